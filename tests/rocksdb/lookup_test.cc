// No stored key is lost and filters reject absent keys, by every way in which
// RocksDB uses them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

constexpr int kKeys = 1000;

// Parameters: partitioned, what follows "id=deltabloom" in the policy's text.
class LookupTest
    : public ::testing::TestWithParam<std::tuple<bool, std::string>> {
 protected:
  Options MakeOptions(const Change& change = nullptr) const {
    const auto& [partitioned, text] = GetParam();
    return testing::MakeOptions(
        {PolicyFromString("id=deltabloom" + text), partitioned,
         [&change](Options* options, BlockBasedTableOptions* table) {
           table->detect_filter_construct_corruption = true;
           if (change) change(options, table);
         }});
  }

  TestDb db_;
};

std::vector<std::string> PolicyTexts() {
  std::vector<std::string> texts = {";compatibility=own", ";seeded=on",
                                    ";key_transform=trim_trailing_spaces"};
  for (const std::string& layout : LayoutNames()) {
    texts.push_back(":9.9:" + layout);
  }
  return texts;
}

INSTANTIATE_TEST_SUITE_P(
    Policies, LookupTest,
    ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(PolicyTexts())));

TEST_P(LookupTest, FiltersInTablesAlsoAfterReopen) {
  db_.Open(MakeOptions());
  db_.Load(0, kKeys);
  const auto tables = db_.Tables();
  ASSERT_EQ(tables.size(), 1u);
  const rocksdb::TableProperties& properties = *tables.begin()->second;
  EXPECT_EQ(properties.filter_policy_name, "deltabloom");
  EXPECT_EQ(properties.num_filter_entries, static_cast<uint64_t>(kKeys));
  EXPECT_GT(properties.filter_size, kKeys * 9u / 8);
  // 12.5 bits per key in level 0, and what partitions have beside.
  EXPECT_LT(properties.filter_size, kKeys * 25u / 16 + kKeys / 2);
  db_.ExpectFiltered(0, kKeys);
  db_.Reopen();
  db_.ExpectFiltered(0, kKeys);
}

TEST_P(LookupTest, ReadOnlyAndSecondaryInstances) {
  db_.Open(MakeOptions());
  db_.Load(0, kKeys);
  Options other = db_.options();
  other.statistics = rocksdb::CreateDBStatistics();
  std::unique_ptr<rocksdb::DB> instance;
  ASSERT_OK(
      rocksdb::DB::OpenForReadOnly(other, db_.path(), OpensInto(&instance)));
  ExpectFiltered(GetAll(instance.get(), 0, kKeys));

  other.statistics = rocksdb::CreateDBStatistics();
  other.max_open_files = -1;
  ASSERT_OK(rocksdb::DB::OpenAsSecondary(
      other, db_.path(), db_.Path("secondary"), OpensInto(&instance)));
  db_.Load(kKeys, 2 * kKeys);
  ASSERT_OK(instance->TryCatchUpWithPrimary());
  ExpectFiltered(GetAll(instance.get(), 0, 2 * kKeys));
}

// Key `k` of prefix `i`. The even prefixes have keys, the odd ones none.
constexpr int kKeysPerPrefix = 8;
std::string KeyOfPrefix(int i, int k) {
  return Key(i) + "/" + std::to_string(k);
}

// Seeks to every prefix, forwards and backwards; filters must skip most of
// those without keys.
void SeekPrefixes(const TestDb& db, int prefixes) {
  db.options().statistics->Reset();
  ReadOptions read;
  read.prefix_same_as_start = true;
  for (int i = 0; i < 2 * prefixes; ++i) {
    const auto it = db.NewIterator(read);
    int found = 0;
    for (it->Seek(Key(i)); it->Valid(); it->Next()) ++found;
    EXPECT_OK(it->status());
    EXPECT_EQ(found, i % 2 == 0 ? kKeysPerPrefix : 0) << i;
    it->SeekForPrev(Key(i) + "~");
    for (; it->Valid(); it->Prev()) --found;
    EXPECT_EQ(found, 0) << i;
  }
  EXPECT_GT(db.FilteredSeeks(), static_cast<uint64_t>(prefixes) * 8 / 10);
}

// Every way in which RocksDB sizes filters and cuts partitions; prefixes and
// whole keys, so that from 9.6.1 on they come through AddKeyAndAlt, and
// prefixes only: then there are partitions that hold nothing but a prefix.
TEST_P(LookupTest, Prefixes) {
  constexpr int kPrefixes = 100;
  struct Case {
    bool whole_keys, optimize, decouple;
    uint64_t metadata_block_size;
  };
  for (const Case& that :
       std::initializer_list<Case>{{true, true, false, 64},
                                   {false, true, false, 64},
                                   {false, true, true, 64},
                                   {true, false, false, 128},
                                   {true, false, true, 128},
                                   {true, true, true, 128}}) {
    TestDb db(
        MakeOptions([&that](Options* options, BlockBasedTableOptions* table) {
          options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(12));
          table->whole_key_filtering = that.whole_keys;
          table->optimize_filters_for_memory = that.optimize;
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 906
          table->decouple_partitioned_filters = that.decouple;
#endif
          table->block_size = 256;
          table->metadata_block_size = that.metadata_block_size;
        }));
    for (int i = 0; i < kPrefixes * kKeysPerPrefix; ++i) {
      db.Put(KeyOfPrefix(2 * (i / kKeysPerPrefix), i % kKeysPerPrefix),
             std::string(100, 'v'));
    }
    db.Flush();
    for (int round = 0; round < 2; ++round) {
      SeekPrefixes(db, kPrefixes);
      db.options().statistics->Reset();
      std::string value;
      for (int i = 0; i < 2 * kPrefixes * kKeysPerPrefix; ++i) {
        const int prefix = i / kKeysPerPrefix;
        const std::string key = KeyOfPrefix(prefix, i % kKeysPerPrefix);
        const Status status = db->Get({}, key, &value);
        EXPECT_EQ(status.ok(), prefix % 2 == 0) << key;
        EXPECT_TRUE(status.ok() || status.IsNotFound());
      }
      if (that.whole_keys) {
        EXPECT_GT(db.Ticker(rocksdb::BLOOM_FILTER_USEFUL),
                  uint64_t{kPrefixes} * kKeysPerPrefix * 9 / 10);
      }
      db.Compact();
    }
  }
}

// RocksDB strips timestamps before a key transform sees the key.
TEST_P(LookupTest, UserDefinedTimestamps) {
  db_.Open(MakeOptions([](Options* options, auto*) {
    options->comparator = TimestampComparator();
  }));
  for (const uint64_t time : {1u, 5u}) {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(
          db_->Put({}, Key(2 * i), Timestamp(time), std::to_string(time)));
    }
  }
  db_.Flush();
  db_.options().statistics->Reset();
  for (const uint64_t time : {1u, 3u, 9u}) {
    const std::string timestamp = Timestamp(time);
    const Slice slice(timestamp);
    ReadOptions read;
    read.timestamp = &slice;
    std::string value;
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(db_->Get(read, Key(2 * i), &value));
      EXPECT_EQ(value, time >= 5 ? "5" : "1");
      EXPECT_TRUE(db_->Get(read, Key(2 * i + 1), &value).IsNotFound());
    }
  }
  EXPECT_GT(db_.Ticker(rocksdb::BLOOM_FILTER_USEFUL), 3 * kKeys * 9u / 10);
}

// A database goes from RocksDB's filters to ours and back: no key is lost, and
// every filter that can be used is used. Parameters: partitioned, RocksDB's
// policy, layout of ours.
class MigrationTest : public ::testing::TestWithParam<
                          std::tuple<bool, const char*, std::string>> {
 protected:
  void Open(const std::string& policy) {
    db_.Open(MakeOptions({policy.empty() ? nullptr : PolicyFromString(policy),
                          std::get<0>(GetParam())}));
  }

  const std::string stock_ = std::get<1>(GetParam());
  const std::string ours_ = "id=deltabloom:10:" + std::get<2>(GetParam());
  const std::string own_ = ours_ + ";compatibility=own";
  TestDb db_;
};

INSTANTIATE_TEST_SUITE_P(
    Policies, MigrationTest,
    ::testing::Combine(
        ::testing::Bool(),
        ::testing::Values("bloomfilter:10:false", "ribbonfilter:10:-1",
                          "rocksdb.internal.LegacyBloomFilter:10"),
        ::testing::ValuesIn(LayoutNames())));

TEST_P(MigrationTest, ThereAndBackAgain) {
  Open(ours_);
  db_.Load(0, kKeys);
  Open(stock_);
  db_.ExpectUnfiltered(0, kKeys);  // ours match always
  db_.Rewrite();                   // with stock's own filters
  db_.ExpectFiltered(0, kKeys);
  Open(ours_);
  db_.ExpectFiltered(0, kKeys);
  // Tables of both kinds are side by side.
  db_.Load(kKeys / 2, 2 * kKeys);
  db_.ExpectFiltered(0, 2 * kKeys);
  Open(stock_);
  db_.ExpectFiltered(0, kKeys / 2);
  ExpectNoneMissed(GetAll(db_, 0, 2 * kKeys));
  Open("");
  ExpectNoneMissed(GetAll(db_, 0, 2 * kKeys));
  Open(ours_);
  db_.Compact();
  db_.ExpectFiltered(0, 2 * kKeys);
}

TEST_P(MigrationTest, FiltersOfAnotherNameAreIgnored) {
  Open(own_);
  db_.Load(0, kKeys);
  Open(stock_);
  db_.ExpectUnfiltered(0, kKeys);
  db_.Rewrite();
  Open(ours_);
  db_.Load(kKeys, 2 * kKeys);
  Open(own_);
  db_.ExpectUnfiltered(0, 2 * kKeys);
  db_.Load(2 * kKeys, 3 * kKeys);
  db_.ExpectFiltered(2 * kKeys, 3 * kKeys);
}

// Filters by max_filter_bytes. Parameter: layout.
class FilterSizeTest : public ::testing::TestWithParam<std::string> {
 protected:
  PolicyPtr Policy(const std::string& options) {
    return PolicyFromString("id=deltabloom;layout=" + GetParam() + ";" +
                            options);
  }
  static void LoadThreeTables(TestDb* db) {
    for (int i = 0; i < 3; ++i) db->Load(5000 * i, 5000 * (i + 1));
  }
  static uint64_t LargestFilter(const TestDb& db) {
    uint64_t largest = 0;
    for (const auto& table : db.Tables()) {
      largest = std::max(largest, table.second->filter_size);
    }
    return largest;
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, FilterSizeTest,
                         ::testing::ValuesIn(LayoutNames()));

TEST_P(FilterSizeTest, MaxFilterBytesLowersBitsAndSaysSoOnce) {
  for (const bool for_memory : {false, true}) {
    TestDb db(Policy("bits_per_key=16;max_filter_bytes=5000"), false,
              [&](auto*, auto* table) {
                table->optimize_filters_for_memory = for_memory;
              });
    LoadThreeTables(&db);
    EXPECT_LE(LargestFilter(db), 5000u);
    EXPECT_GT(LargestFilter(db), 4000u);
    const Lookups lookups = GetAll(db, 0, 15000);
    ExpectNoneMissed(lookups);
    // About 8 bits per key: 3 % at most.
    EXPECT_GT(lookups.useful, lookups.absent * 95 / 100);
    EXPECT_EQ(CountIn(db.Log(), "which has to fit max_filter_bytes=5000"), 1);
  }
}

TEST_P(FilterSizeTest, TooFewFilterBytesAreNoFilterAndTheLogSaysSoOnce) {
  TestDb db(Policy("bits_per_key=16;max_filter_bytes=1000"));
  LoadThreeTables(&db);
  EXPECT_EQ(LargestFilter(db), 17u);
  db.ExpectUnfiltered(0, 15000);
  EXPECT_EQ(
      CountIn(db.Log(), "no filter for 5000 keys, max_filter_bytes=1000 "), 1);
  EXPECT_EQ(CountIn(db.Log(), "which has to fit"), 0);
}

// Partitions are cut so that they fit, or nearly do.
TEST_P(FilterSizeTest, MaxFilterBytesMakesMorePartitions) {
  TestDb db(Policy("max_filter_bytes=400"), /*partitioned=*/true);
  db.Load(0, 10000);
  db.ExpectFiltered(0, 10000);
}

}  // namespace
}  // namespace deltabloom::testing
