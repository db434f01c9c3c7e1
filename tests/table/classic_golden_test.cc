// Filters with LevelDB's hash equal those that LevelDB 1.23 itself wrote.
#include <gtest/gtest.h>

#include <cinttypes>

#include "deltabloom/filter.h"
#include "tests/csv.h"
#include "util/coding.h"

namespace deltabloom {
namespace {

std::string GoldenKey(const std::string& kind, uint64_t i) {
  char key[32] = {};
  if (kind == "le32") {
    internal::StoreFixed32(key, static_cast<uint32_t>(i));
    return std::string(key, 4);
  }
  if (kind == "user") {
    std::snprintf(key, sizeof(key), "user%010" PRIu64, 7 * i);
    return key;
  }
  internal::StoreFixed64(key, i * 0x9E3779B97F4A7C15u + 1);
  return std::string(key, 8) + "\xff\x80";
}

uint64_t Fnv1a64(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  return hash;
}

TEST(ClassicGolden, EqualsLevelDB) {
  for (const auto& row : test::ReadCsv("leveldb_bloom.csv")) {
    SCOPED_TRACE("bits_per_key " + row.at(0) + " keys " + row.at(1) + " n " +
                 row.at(2));
    FilterOptions options;
    options.bits_per_key = std::stod(row[0]);
    options.hash = Hash::kLevelDB;
    FilterBuilder builder(options);
    const uint64_t n = std::stoull(row[2]);
    for (uint64_t i = 0; i < n; ++i) builder.AddKey(GoldenKey(row[1], i));
    std::string filter;
    builder.Finish(&filter);
    EXPECT_EQ(filter.size(), std::stoull(row.at(3)));
    EXPECT_EQ(Fnv1a64(filter), std::stoull(row.at(4), nullptr, 16));
    if (row.size() > 5 && !row[5].empty()) {
      EXPECT_EQ(filter, test::FromHex(row[5]));
    }
    const Filter view(filter, Hash::kLevelDB);
    for (uint64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(view.MayMatch(GoldenKey(row[1], i))) << i;
    }
  }
}

}  // namespace
}  // namespace deltabloom
