// Filters equal committed ones: classic ones with LevelDB's hash those that
// LevelDB 1.23 itself wrote, all others those of the naive reference
// (write_golden.cc).
#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "tests/csv.h"
#include "tests/filters.h"
#include "util/layouts/layout.h"

namespace deltabloom {
namespace {

TEST(Golden, FiltersEqualCommittedOnes) {
  const struct {
    const char* file;
    double divisor;  // of the bits per key in its rows
    Hash hash;
    Layout layout;
  } kFiles[] = {
      {"leveldb_bloom.csv", 1, Hash::kLevelDB, Layout::kClassic},
      {"../golden/classic_murmurhash2.csv", 1000, Hash::kMurmurHash2,
       Layout::kClassic},
      {"../golden/local.csv", 1000, Hash::kMurmurHash2, Layout::kLocal},
      {"../golden/compact.csv", 1000, Hash::kMurmurHash2, Layout::kCompact},
  };
  for (const internal::LayoutRow* row : internal::kLayouts) {
    EXPECT_TRUE(std::any_of(std::begin(kFiles), std::end(kFiles),
                            [row](const auto& file) {
                              return file.layout == row->layout &&
                                     file.hash == row->classic_hash;
                            }))
        << "no goldens for " << row->name;
  }
  for (const auto& [file, divisor, hash, layout] : kFiles) {
    // Bits per key, kind of keys, n, size, FNV-1a 64, bytes where short.
    for (const auto& row : test::ReadCsv(file)) {
      SCOPED_TRACE(std::string(file) + ": bits per key " + row.at(0) +
                   " keys " + row.at(1) + " n " + row.at(2));
      std::vector<std::string> keys(std::stoull(row[2]));
      for (size_t i = 0; i < keys.size(); ++i) {
        keys[i] = test::GoldenKey(row[1], i);
      }
      const std::string filter = test::RawFilter(
          keys, test::OptionsOf(layout, std::stod(row[0]) / divisor, hash));
      EXPECT_EQ(filter.size(), std::stoull(row.at(3)));
      EXPECT_EQ(test::Fnv1a64(filter), std::stoull(row.at(4), nullptr, 16));
      if (row.size() > 5 && !row[5].empty()) {
        EXPECT_EQ(filter, test::FromHex(row[5]));
      }
      const Filter view(filter, hash);
      for (const std::string& key : keys) ASSERT_TRUE(view.MayMatch(key));
    }
  }
}

}  // namespace
}  // namespace deltabloom
