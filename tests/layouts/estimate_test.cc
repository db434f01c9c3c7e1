// Keys and rate estimated from a filter's bytes, compared with the keys that it
// was built from and with its measured rate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "tests/layouts/subject.h"
#include "tests/random.h"
#include "util/cpu.h"
#include "util/layouts/layout.h"

namespace deltabloom::test {
namespace {

using internal::ContentEstimate;
using internal::LayoutRow;

class EstimateTest : public ::testing::TestWithParam<const LayoutRow*> {};

TEST_P(EstimateTest, KeysAndRateOfAFilter) {
  const LayoutRow& row = *GetParam();
  Random random(SeedOr(1));
  for (const size_t n : {300u, 3'000u, 30'000u, 200'000u}) {
    const std::vector<std::string> keys = random.Keys(n, 16);
    for (const uint32_t bits : {6u, 10u, 14u}) {
      const std::optional<std::string> filter =
          BuildFilter(row, internal::Cpu::kPortable, keys, bits * 1000);
      if (!filter) continue;
      const Reader reader(row, internal::Cpu::kPortable, *filter);
      ASSERT_TRUE(reader.valid());
      const ContentEstimate estimate = row.estimate(reader.parsed());

      // 5 standard errors of the sample; probes that fall on each other hide a
      // sixth of the keys of a large classic filter; compact counts blocks.
      const double keys_error = 32 + static_cast<double>(n) * 0.06 +
                                (row.layout == Layout::kClassic && n > 30'000
                                     ? static_cast<double>(n) / 6
                                     : 0);
      EXPECT_NEAR(estimate.keys, static_cast<double>(n), keys_error)
          << row.name << " " << bits;

      constexpr int kAsked = 200'000;
      int matches = 0;
      for (int i = 0; i < kAsked; ++i) {
        matches += reader.MayMatch(random.Key(15)) ? 1 : 0;
      }
      const double rate = matches / double{kAsked};
      // 5 standard errors of the count and of the estimate; a classic
      // filter's probes are not as random as theory has them.
      const double counted = std::sqrt(estimate.rate / kAsked);
      const double sampled = row.layout == Layout::kCompact ? 0
                             : row.layout == Layout::kLocal ? 0.07
                             : n > 30'000 ? std::sqrt(1 / (8192 * rate + 1))
                                          : 0.04;
      const double slack = row.layout != Layout::kClassic       ? 1
                           : n > 30'000 && rate < 0.0025        ? 2.2
                           : row.classic_hash == Hash::kLevelDB ? 1.6
                                                                : 1.25;
      const double error = 5 * (counted + sampled * estimate.rate);
      EXPECT_GT(rate, estimate.rate / (slack > 1 ? 1.25 : 1) - error)
          << row.name << " " << n << " " << bits;
      EXPECT_LT(rate, estimate.rate * slack + error)
          << row.name << " " << n << " " << bits;
    }
  }
}

// Any bytes that parse have an estimate that is a number.
TEST_P(EstimateTest, AnyBytes) {
  const LayoutRow& row = *GetParam();
  Random random(SeedOr(2));
  int parsed_filters = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t size = 1 + random.Below(9000);
    std::string filter = round % 3 == 0   ? random.Key(size)
                         : round % 3 == 1 ? std::string(size, '\0')
                                          : std::string(size, '\xff');
    const auto markers =
        static_cast<uint64_t>(row.last_marker - row.first_marker) + 1;
    filter += static_cast<char>(row.first_marker + random.Below(markers));
    if (row.layout == Layout::kLocal) {
      filter.erase(0, (filter.size() - 1) % 64);
    }
    // Blocks of the first layer alone, so that the size may fit.
    if (row.layout == Layout::kCompact && filter.size() > 9) {
      const size_t sizes = filter.size() - 9;
      std::fill(filter.begin() + static_cast<std::ptrdiff_t>(sizes),
                filter.end() - 1, '\0');
      filter[sizes] = static_cast<char>(1 + random.Below(100));
    }
    const Reader reader(row, internal::Cpu::kPortable, filter);
    if (!reader.valid()) continue;
    ++parsed_filters;
    const ContentEstimate estimate = row.estimate(reader.parsed());
    EXPECT_TRUE(std::isfinite(estimate.keys) && estimate.keys >= 0);
    EXPECT_TRUE(estimate.rate >= 0 && estimate.rate <= 1) << estimate.rate;
  }
  EXPECT_GT(parsed_filters, 50);
}

INSTANTIATE_TEST_SUITE_P(Layouts, EstimateTest, ::testing::ValuesIn(AllRows()));

}  // namespace
}  // namespace deltabloom::test
