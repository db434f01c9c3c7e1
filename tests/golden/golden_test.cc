// Filters equal committed ones: classic ones with LevelDB's hash those that
// LevelDB 1.23 itself wrote, all others those of the naive reference
// (write_golden.cc).
#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include "deltabloom/filter.h"
#include "tests/csv.h"
#include "tests/filters.h"

namespace deltabloom {
namespace {

// row: bits per key, kind of keys, n, size, FNV-1a 64, bytes where short.
void CheckRow(const std::vector<std::string>& row, double bits_per_key,
              Hash hash, Layout layout) {
  SCOPED_TRACE("bits_per_key " + row.at(0) + " keys " + row.at(1) + " n " +
               row.at(2));
  std::vector<std::string> keys(std::stoull(row[2]));
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = test::GoldenKey(row[1], i);
  }
  const std::string filter =
      test::RawFilter(keys, test::OptionsOf(layout, bits_per_key, hash));
  EXPECT_EQ(filter.size(), std::stoull(row.at(3)));
  EXPECT_EQ(test::Fnv1a64(filter), std::stoull(row.at(4), nullptr, 16));
  if (row.size() > 5 && !row[5].empty()) {
    EXPECT_EQ(filter, test::FromHex(row[5]));
  }
  const Filter view(filter, hash);
  for (const std::string& key : keys) ASSERT_TRUE(view.MayMatch(key));
}

TEST(ClassicGolden, EqualsLevelDB) {
  for (const auto& row : test::ReadCsv("leveldb_bloom.csv")) {
    CheckRow(row, std::stod(row[0]), Hash::kLevelDB, Layout::kClassic);
  }
}

TEST(ClassicGolden, EqualsTheReference) {
  for (const auto& row : test::ReadCsv("../golden/classic_murmurhash2.csv")) {
    CheckRow(row, std::stod(row[0]) / 1000, Hash::kMurmurHash2,
             Layout::kClassic);
  }
}

TEST(LocalGolden, EqualsTheReference) {
  for (const auto& row : test::ReadCsv("../golden/local.csv")) {
    CheckRow(row, std::stod(row[0]) / 1000, Hash::kMurmurHash2, Layout::kLocal);
  }
}

TEST(CompactGolden, EqualsTheReference) {
  for (const auto& row : test::ReadCsv("../golden/compact.csv")) {
    CheckRow(row, std::stod(row[0]) / 1000, Hash::kMurmurHash2,
             Layout::kCompact);
  }
}

}  // namespace
}  // namespace deltabloom
