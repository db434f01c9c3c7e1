// The bits of a table's filter: the rule, by what RocksDB says of the table; a
// total for all filters; and OPTIONS files of earlier versions, which spoke of
// other rules.
#include "engines/rocksdb/policy/table_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/filter_total.h"
#include "engines/rocksdb/base/options.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using internal::FilterBytesOf;
using internal::FitTotal;
using internal::MillibitsOfTable;
using internal::PolicyOptions;
using internal::TableKeys;

PolicyOptions OptionsOf(double bits_per_key,
                        std::optional<double> upper_bits_per_key = {},
                        Layout layout = Layout::kCompact) {
  PolicyOptions options;
  options.bits_per_key = bits_per_key;
  options.upper_bits_per_key = upper_bits_per_key;
  options.layout = layout;
  return options;
}

uint32_t Millibits(
    const PolicyOptions& options, int level, bool bottommost,
    rocksdb::CompactionStyle style = rocksdb::kCompactionStyleLevel) {
  static const BlockBasedTableOptions table;
  rocksdb::FilterBuildingContext context(table);
  context.level_at_creation = level;
  context.is_bottommost = bottommost;
  context.compaction_style = style;
  return MillibitsOfTable(options, context);
}

// What RocksDB says of a table, for each kind that there is.
TEST(TableBitsTest, BottommostTablesGetBitsPerKeyAndOthersMore) {
  const PolicyOptions options = OptionsOf(10);
  EXPECT_EQ(Millibits(options, 0, false), 12'500u) << "a flush";
  EXPECT_EQ(Millibits(options, 0, true), 10'000u) << "universal, one level";
  EXPECT_EQ(Millibits(options, 5, false), 12'500u);
  EXPECT_EQ(Millibits(options, 5, true), 10'000u) << "nothing below its keys";
  EXPECT_EQ(Millibits(options, 6, true), 10'000u);
  EXPECT_EQ(Millibits(options, -1, false), 10'000u) << "SstFileWriter";
  EXPECT_EQ(Millibits(options, 0, false, rocksdb::kCompactionStyleFIFO),
            10'000u);
  EXPECT_EQ(Millibits(options, 0, false, rocksdb::kCompactionStyleUniversal),
            12'500u);
}

TEST(TableBitsTest, UnsetUpperBitsFollowBitsPerKey) {
  const auto upper = [](const PolicyOptions& options) {
    return options.UpperMillibitsPerKey();
  };
  EXPECT_EQ(upper(OptionsOf(0)), 0u) << "no filter anywhere";
  EXPECT_LT(upper(OptionsOf(0.4999)), internal::kMinMillibitsPerKey);
  EXPECT_EQ(upper(OptionsOf(0.5)), 3'000u);
  EXPECT_EQ(upper(OptionsOf(9.9)), 12'400u);
  EXPECT_EQ(upper(OptionsOf(999)), 1'000'000u) << "no more than is legal";
  EXPECT_EQ(upper(OptionsOf(10, {}, Layout::kLocal)), 10'000u);
  EXPECT_EQ(upper(OptionsOf(10, {}, Layout::kClassic)), 10'000u);
}

TEST(TableBitsTest, UpperBitsThatAreSet) {
  EXPECT_EQ(Millibits(OptionsOf(10, 10), 0, false), 10'000u) << "uniform";
  EXPECT_EQ(Millibits(OptionsOf(10, 14.25), 0, false), 14'250u);
  EXPECT_EQ(Millibits(OptionsOf(10, 12, Layout::kLocal), 0, false), 12'000u);
  // No filter in the last level, as where nearly all lookups hit.
  EXPECT_EQ(Millibits(OptionsOf(0, 10), 6, true), 0u);
  EXPECT_EQ(Millibits(OptionsOf(0, 10), 0, false), 10'000u);
}

TEST(TableBitsTest, FewerUpperBitsAreRefused) {
  EXPECT_EQ(OptionsOf(10, 9.99).Validate(),
            "upper_bits_per_key=9.99 is less than bits_per_key=10: set both at "
            "once, or upper_bits_per_key=unset, with which it follows "
            "bits_per_key");
  EXPECT_EQ(OptionsOf(10, 10).Validate(), "");
  EXPECT_EQ(OptionsOf(10, 1000).Validate(), "");
  EXPECT_EQ(OptionsOf(10, 1000.5).Validate(),
            "upper_bits_per_key '1000.5' is not valid: use bits_per_key to "
            "1000, or unset to follow bits_per_key");
}

// Compact has 10.06 bits per key of 10 with a million keys, and 16 bytes of
// framing.
TEST(TableBitsTest, ATotalGivesTheMostBitsThatFit) {
  const std::vector<TableKeys> tables = {
      {1'000'000, true}, {1'000'000, true}, {100'000, false}, {10'000, false}};
  PolicyOptions ten = OptionsOf(10);
  const uint64_t bytes = FilterBytesOf(tables, ten);
  // 2 million keys of 10 bits, 110,000 of 12.5.
  EXPECT_NEAR(static_cast<double>(bytes), 2'500'000 + 171'875, 2'671'875 * .01);
  PolicyOptions fitted = OptionsOf(3, 3);
  ASSERT_TRUE(FitTotal(tables, bytes, &fitted));
  EXPECT_FALSE(fitted.upper_bits_per_key.has_value());
  EXPECT_LE(FilterBytesOf(tables, fitted), bytes);
  EXPECT_GE(fitted.bits_per_key, 10);
  EXPECT_LT(fitted.bits_per_key, 10.01);
  fitted.bits_per_key += 0.001;
  EXPECT_GT(FilterBytesOf(tables, fitted), bytes);

  PolicyOptions kept = OptionsOf(7, 8);
  EXPECT_FALSE(FitTotal(tables, 1000, &kept));
  EXPECT_EQ(kept.bits_per_key, 7);
  EXPECT_EQ(kept.upper_bits_per_key, 8.0);
}

TEST(TableBitsTest, AProgramFitsBitsToATotal) {
  TestDb db(Deltabloom(10));
  db.Load(0, 40'000);
  db.Rewrite();
  db.Load(40'000, 42'000);
  RocksDBFilterOptions options;
  std::string error;
  const std::vector<ColumnFamilyHandle*> families = {db->DefaultColumnFamily()};
  ASSERT_TRUE(FitRocksDBFilters(db, families, 64'000, &options, &error))
      << error;
  // 512,000 bits for 40,000 keys and 2,000 of 2.5 bits more.
  EXPECT_NEAR(options.bits_per_key, 12.07, 0.1);
  ASSERT_OK(db.SetField("bits_per_key", std::to_string(options.bits_per_key)));
  // Compaction rewrites the tables: one is left, all of whose keys are of the
  // last level.
  db.Rewrite();
  uint64_t bytes = 0;
  for (const auto& [path, table] : db.Tables()) bytes += table->filter_size;
  EXPECT_LE(bytes, 64'000u);
  EXPECT_GE(bytes, 63'000u);

  options.bits_per_key = 9;
  EXPECT_FALSE(FitRocksDBFilters(db, families, 1000, &options, &error));
  EXPECT_EQ(options.bits_per_key, 9);
  EXPECT_EQ(error,
            "deltabloom: 1000 bytes of filters are too few for 42000 keys in 1 "
            "tables: 0.5 bits per key in the last level, and what the other "
            "tables have more, take more");
  TestDb empty(Deltabloom(10));
  EXPECT_FALSE(FitRocksDBFilters(empty, {empty->DefaultColumnFamily()}, 1000,
                                 &options, &error));
  EXPECT_EQ(error, "deltabloom: there is no table yet, so there are no keys");
}

// A later bits_per_key must not leave the upper tables where they were.
TEST(TableBitsTest, OptionsFilesAndSetOptionsKeepUpperBitsUnset) {
  TestDb db(Deltabloom(10));
  EXPECT_EQ(db.Option("upper_bits_per_key"), "unset");
  ASSERT_OK(db.SetField("bits_per_key", "14"));
  EXPECT_EQ(db.Option("upper_bits_per_key"), "unset");
  db.Load(0, 20'000);
  const auto bits = [&db] {
    const auto tables = db.Tables();
    EXPECT_EQ(tables.size(), 1u);
    const auto& table = *tables.begin()->second;
    return 8 * static_cast<double>(table.filter_size) /
           static_cast<double>(table.num_filter_entries);
  };
  EXPECT_NEAR(bits(), 16.5, 0.2);
  db.Rewrite();
  EXPECT_NEAR(bits(), 14, 0.2);
  const Options loaded = db.Loaded();
  EXPECT_EQ(testing::Option(*PolicyIn(loaded), "upper_bits_per_key"), "unset");
  db.Open(loaded);
  db.Rewrite();
  EXPECT_NEAR(bits(), 14, 0.2);
  ASSERT_OK(
      db.SetPolicy("{id=deltabloom;bits_per_key=6;upper_bits_per_key=7}"));
  db.Load(20'000, 40'000);
  db.Rewrite();
  EXPECT_NEAR(bits(), 6, 0.2);
}

// From RocksDB 9.2 on it is on by default: a filter takes what the allocator
// rounds up, and is never smaller.
TEST(TableBitsTest, OptimizeFiltersForMemoryOnlyGrowsFilters) {
  for (const int keys : {100, 3000, 50'000}) {
    uint64_t sizes[2];
    for (const bool optimize : {false, true}) {
      TestDb db(Deltabloom(10), /*partitioned=*/false,
                [optimize](Options*, BlockBasedTableOptions* table) {
                  table->optimize_filters_for_memory = optimize;
                });
      for (int file = 0; file < 10; ++file) db.Load(0, keys);
      sizes[optimize ? 1 : 0] = UINT64_MAX;
      for (const auto& [path, table] : db.Tables()) {
        sizes[optimize ? 1 : 0] =
            std::min(sizes[optimize ? 1 : 0], table->filter_size);
      }
      db.ExpectFiltered(0, keys);
    }
    EXPECT_GE(sizes[1], sizes[0]) << keys;
  }
}

// --- Earlier versions.

TEST(EarlierOptionsTest, AreReadAndTheNoticeSaysWhatFiltersGet) {
  struct {
    const char* text;
    const char* notice;
  } const cases[] = {
      {"bits_per_key=10;allocation=uniform", ""},
      {"bits_per_key=10;allocation=levels;weights_by_use=off", ""},
      {"min_bits_per_key=4;max_bits_per_key=20", ""},
      {"filter_memory=unset;false_positive_rate=0", ""},
      {"bits_per_key=unset;filter_memory=2GiB;allocation=levels",
       "filter_memory=2GiB is ignored, as this version has no such option: "
       "tables of the last level get bits_per_key=10, others 12.5; deltabloom "
       "estimate DIR --filter-memory SIZE prints the bits_per_key of a total"},
      {"layout=local;bits_per_key=unset;false_positive_rate=0.01",
       "false_positive_rate=0.01 is ignored, as this version has no such "
       "option: tables of the last level get bits_per_key=10, others 10; "
       "deltabloom estimate DIR --rate RATE prints the bits_per_key of a rate"},
  };
  for (const auto& one : cases) {
    PolicyOptions options;
    EXPECT_EQ(internal::ParsePolicyOptions(one.text, &options), "") << one.text;
    EXPECT_EQ(options.notice, one.notice);
    EXPECT_EQ(options.bits_per_key, 10) << one.text;
  }
  for (const char* uri : {"deltabloom:10:auto", "deltabloom:10:auto:levels",
                          "deltabloom:10:auto:uniform"}) {
    EXPECT_EQ(Option(*PolicyFromString(uri), "layout"), "compact") << uri;
  }
  ExpectRefused("deltabloom:10:compact:12", "cannot read ':12'");
  // In a policy that is in use they would do nothing where something is wanted.
  TestDb db(Deltabloom(10));
  EXPECT_CONTAINS(db.SetField("filter_memory", "2GiB").ToString(),
                  "filter_memory");
  EXPECT_FALSE(db.SetField("filter_memory", "2GiB").ok());
}

// Such a file names a listener, too, which no longer exists.
TEST(EarlierOptionsTest, AnOptionsFileOpensAndTheLogHasOneLine) {
  TestDb db(Deltabloom(10));
  db.Load(0, 2000);
  db.Close();
  const auto is_options = [](const std::string& name) {
    return name.rfind("OPTIONS-", 0) == 0;
  };
  std::vector<std::string> names;
  ASSERT_OK(rocksdb::Env::Default()->GetChildren(db.path(), &names));
  for (const std::string& name : names) {
    if (!is_options(name)) continue;
    std::string text = ReadFile(db.path() + "/" + name);
    const auto replace = [&text](const std::string& from,
                                 const std::string& to) {
      const size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      text.replace(at, from.size(), to);
    };
    replace("upper_bits_per_key=unset",
            "allocation=levels;filter_memory=1MiB;min_bits_per_key=4;"
            "max_bits_per_key=20;weights_by_use=on;false_positive_rate=0");
    replace("layout=compact", "layout=auto");
    replace("bits_per_key=10", "bits_per_key=unset");
    replace("[DBOptions]\n", "[DBOptions]\n  listeners=deltabloom\n");
    std::ofstream(db.path() + "/" + name) << text;
  }
  Options loaded = db.Loaded(/*strict=*/false);
  ASSERT_EQ(loaded.listeners.size(), 1u);
  EXPECT_STREQ(loaded.listeners[0]->Name(), "deltabloom");
  db.Open(loaded);
  db.Load(2000, 4000);
  db.ExpectFiltered(0, 4000);
  EXPECT_EQ(CountIn(db.Log(), "[deltabloom] filter_memory=1MiB is ignored"), 1);
  db.Open(db.Loaded());
  EXPECT_EQ(CountIn(db.Log(), "is ignored"), 0)
      << "the new file has it no more";
}

}  // namespace
}  // namespace deltabloom::testing
