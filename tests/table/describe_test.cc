// What DescribeFilter says of each layout, in full, with the size of the filter
// it says it of. The sizes agree: bits / 8, blocks * 64, and for compact
// columns * rows / 8 with the bytes of its thresholds and sizes; each with the
// byte of the framing.
#include <gtest/gtest.h>

#include <string>

#include "deltabloom/filter.h"

namespace deltabloom {
namespace {

TEST(DescribeFilter, InFull) {
  const struct {
    Layout layout;
    double bits_per_key;
    int keys;
    const char* text;
    size_t size;
  } cases[] = {
      {Layout::kClassic, 1, 1, "classic, 1 probes, 64 bits", 9},
      {Layout::kClassic, 10.5, 1000, "classic, 7 probes, 10504 bits", 1314},
      {Layout::kClassic, 25, 1000, "classic, 17 probes, 25000 bits", 3126},
      {Layout::kLocal, 1, 1, "local, 1 probes, 1 blocks of 64 bytes", 65},
      {Layout::kLocal, 10, 5000, "local, 6 probes, 98 blocks of 64 bytes",
       6273},
      {Layout::kLocal, 16, 1000, "local, 6 + 5 probes, 32 blocks of 64 bytes",
       2049},
      {Layout::kCompact, 8, 1000, "compact, 7.69 columns, 1024 rows, 2 layers",
       995},
      {Layout::kCompact, 10.5, 5000,
       "compact, 10.22 columns, 5120 rows, 3 layers", 6563},
      {Layout::kCompact, 16, 100000,
       "compact, 15.82 columns, 101056 rows, 3 layers", 199999},
  };
  for (const auto& c : cases) {
    FilterOptions options;
    options.layout = c.layout;
    options.bits_per_key = c.bits_per_key;
    FilterBuilder builder(options);
    for (int i = 0; i < c.keys; ++i) builder.AddKey(std::to_string(i));
    std::string filter;
    builder.Finish(&filter);
    EXPECT_EQ(DescribeFilter(filter), c.text);
    EXPECT_EQ(filter.size(), c.size) << c.text;
  }
}

}  // namespace
}  // namespace deltabloom
