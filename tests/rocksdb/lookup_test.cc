// No stored key is lost and filters reject absent keys, by every way in which
// RocksDB uses them.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "rocksdb/slice_transform.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/rocksdb/equal_keys.h"

namespace deltabloom::testing {
namespace {

constexpr int kKeys = 2000;

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
  void ExpectFilteredBothWays(int end) {
    db_.ExpectFiltered(0, end);
    ExpectFiltered(MultiGetAll(db_, 0, end), end);
  }

  TestDb db_;
};

std::vector<std::string> PolicyTexts() {
  std::vector<std::string> texts = {";compatibility=own", ";seeded=on"};
  for (const std::string& layout : LayoutNames()) {
    texts.push_back(":9.9:" + layout);
  }
  return texts;
}

INSTANTIATE_TEST_SUITE_P(
    Policies, LookupTest,
    ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(PolicyTexts())));

TEST_P(LookupTest, GetAndMultiGetAlsoAfterReopen) {
  db_.Open(MakeOptions());
  db_.Load(0, kKeys);
  ExpectFilteredBothWays(kKeys);
  db_.Reopen();
  ExpectFilteredBothWays(kKeys);
}

TEST_P(LookupTest, TablesHoldFilters) {
  db_.Open(MakeOptions());
  db_.Load(0, kKeys);
  const auto tables = db_.Tables();
  ASSERT_EQ(tables.size(), 1u);
  const rocksdb::TableProperties& properties = *tables.begin()->second;
  EXPECT_EQ(properties.filter_policy_name, "deltabloom");
  EXPECT_EQ(properties.num_filter_entries, static_cast<uint64_t>(kKeys));
  EXPECT_GT(properties.filter_size, kKeys * 9u / 8);
  EXPECT_LT(properties.filter_size, kKeys * 10u / 8 + kKeys / 2);
}

TEST_P(LookupTest, ReadOnlyAndSecondaryInstances) {
  db_.Open(MakeOptions());
  db_.Load(0, kKeys);
  Options other = db_.options();
  other.statistics = rocksdb::CreateDBStatistics();
  std::unique_ptr<rocksdb::DB> read_only;
  ASSERT_OK(
      rocksdb::DB::OpenForReadOnly(other, db_.path(), OpensInto(&read_only)));
  ExpectFiltered(GetAll(read_only.get(), 0, kKeys), kKeys);

  other.statistics = rocksdb::CreateDBStatistics();
  other.max_open_files = -1;
  std::unique_ptr<rocksdb::DB> secondary;
  ASSERT_OK(rocksdb::DB::OpenAsSecondary(
      other, db_.path(), db_.Path("secondary"), OpensInto(&secondary)));
  db_.Load(kKeys, 2 * kKeys);
  ASSERT_OK(secondary->TryCatchUpWithPrimary());
  ExpectFiltered(GetAll(secondary.get(), 0, 2 * kKeys), 2 * kKeys);
}

TEST_P(LookupTest, Checkpoint) {
  db_.Open(MakeOptions());
  db_.Load(0, kKeys);
  rocksdb::Checkpoint* made = nullptr;
  ASSERT_OK(rocksdb::Checkpoint::Create(db_, &made));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  ASSERT_OK(checkpoint->CreateCheckpoint(db_.Path("copy")));
  const auto copy = Open(db_.options(), db_.Path("copy"));
  ExpectFiltered(GetAll(copy.get(), 0, kKeys), kKeys);
}

TEST_P(LookupTest, Compaction) {
  db_.Open(MakeOptions([](Options* options, auto*) {
    options->target_file_size_base = 64 << 10;
  }));
  // Runs that overlap.
  for (int run = 0; run < 4; ++run) {
    for (int i = run; i < kKeys; i += 4) db_.Put(Key(2 * i), Value(Key(2 * i)));
    db_.Flush();
  }
  db_.ExpectFiltered(0, kKeys);
  db_.Compact();
  std::string files;
  ASSERT_TRUE(db_->GetProperty("rocksdb.num-files-at-level0", &files));
  ASSERT_EQ(files, "0");
  ExpectFilteredBothWays(kKeys);
}

TEST_P(LookupTest, Ingestion) {
  db_.Open(MakeOptions());
  const std::string path = db_.Path("external.sst");
  WriteSst(db_.options(), path, Keys(0, kKeys));
  ASSERT_OK(db_->IngestExternalFile({path}, {}));
  db_.ExpectFiltered(0, kKeys);
}

// One with this policy, one without any.
TEST_P(LookupTest, ColumnFamilies) {
  db_.Open(MakeOptions());
  for (ColumnFamilyHandle* family :
       {db_.NewFamily(db_.options(), "with"), db_.NewFamily({}, "without")}) {
    const std::string& name = family->GetName();
    for (int i = 0; i < kKeys; ++i) db_.Put(Key(2 * i), Value(name), family);
    ASSERT_OK(db_->Flush({}, family));
    db_.options().statistics->Reset();
    std::string value;
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(db_->Get({}, family, Key(2 * i), &value));
      EXPECT_EQ(value, Value(name));
      EXPECT_TRUE(db_->Get({}, family, Key(2 * i + 1), &value).IsNotFound());
    }
    const uint64_t useful = db_.Ticker(rocksdb::BLOOM_FILTER_USEFUL);
    if (name == "with") {
      EXPECT_GT(useful, kKeys * 9u / 10);
    } else {
      EXPECT_EQ(useful, 0u);
    }
    db_.CloseFamily(family);
  }
}

// Key `k` of prefix `i`. The even prefixes have keys, the odd ones none.
constexpr int kKeysPerPrefix = 8;
std::string KeyOfPrefix(int i, int k) {
  return Key(i) + "/" + std::to_string(k);
}

void LoadPrefixes(TestDb* db, int prefixes) {
  for (int i = 0; i < prefixes; ++i) {
    for (int k = 0; k < kKeysPerPrefix; ++k) {
      db->Put(KeyOfPrefix(2 * i, k), std::string(100, 'v'));
    }
  }
  db->Flush();
}

// Seeks to every prefix; filters must skip most of those without keys.
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
    // Backwards too.
    found = 0;
    it->SeekForPrev(Key(i) + "~");
    for (; it->Valid(); it->Prev()) ++found;
    EXPECT_EQ(found, i % 2 == 0 ? kKeysPerPrefix : 0) << i;
  }
  EXPECT_GT(db.FilteredSeeks(), static_cast<uint64_t>(prefixes) * 8 / 10);
}

// Every way in which RocksDB sizes filters and cuts partitions; prefixes and
// whole keys, so that from 9.6.1 on they come through AddKeyAndAlt, and
// prefixes only: then there are partitions that hold nothing but a prefix.
TEST_P(LookupTest, Prefixes) {
  constexpr int kPrefixes = 150;
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
    LoadPrefixes(&db, kPrefixes);
    for (int round = 0; round < 2; ++round) {
      SeekPrefixes(db, kPrefixes);
      db.options().statistics->Reset();
      std::string value;
      for (int i = 0; i < 2 * kPrefixes; ++i) {
        for (int k = 0; k < kKeysPerPrefix; ++k) {
          const Status status = db->Get({}, KeyOfPrefix(i, k), &value);
          EXPECT_EQ(status.ok(), i % 2 == 0) << KeyOfPrefix(i, k);
          EXPECT_TRUE(status.ok() || status.IsNotFound());
        }
      }
      if (that.whole_keys) {
        EXPECT_GT(db.Ticker(rocksdb::BLOOM_FILTER_USEFUL),
                  uint64_t{kPrefixes} * kKeysPerPrefix * 9 / 10);
      }
      db.Compact();
    }
  }
}

// One prefix over many partitions, all but the first without a key of its own.
TEST_P(LookupTest, PartitionsOfOnePrefix) {
  db_.Open(MakeOptions([](Options* options, BlockBasedTableOptions* table) {
    options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
    table->whole_key_filtering = false;
    table->block_size = 256;
    table->metadata_block_size = 64;
  }));
  db_.Load(0, kKeys);
  ReadOptions read;
  read.prefix_same_as_start = true;
  const auto it = db_.NewIterator(read);
  for (int i = 0; i < kKeys; i += 50) {
    it->Seek(Key(2 * i));
    ASSERT_TRUE(it->Valid()) << i;
    EXPECT_EQ(it->key().ToString(), Key(2 * i));
    it->SeekForPrev(Key(2 * i + 1));
    ASSERT_TRUE(it->Valid()) << i;
    EXPECT_EQ(it->key().ToString(), Key(2 * i));
  }
  std::string value;
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_OK(db_->Get({}, Key(2 * i), &value));
  }
}

TEST_P(LookupTest, UserDefinedTimestamps) {
  const TimestampComparator comparator("test.Timestamp");
  db_.Open(MakeOptions([&comparator](Options* options, auto*) {
    options->comparator = &comparator;
  }));
  for (const uint64_t time : {1u, 5u}) {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_OK(db_->Put({}, Key(2 * i), Timestamp(time),
                         Value(std::to_string(time))));
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
      EXPECT_EQ(value, Value(time >= 5 ? "5" : "1"));
      EXPECT_TRUE(db_->Get(read, Key(2 * i + 1), &value).IsNotFound());
    }
  }
  EXPECT_GT(db_.Ticker(rocksdb::BLOOM_FILTER_USEFUL), 3 * kKeys * 9u / 10);
}

// A database goes from RocksDB's filters to ours and back: no key is lost, and
// every filter that can be used is used.
struct Stock {
  const char* name;
  PolicyPtr (*make)();
};

PolicyPtr MakeBloom() { return RocksDBBloom(); }
PolicyPtr MakeRibbon() { return RocksDBRibbon(); }
PolicyPtr MakeLegacyBloom() {
  return PolicyFromString("rocksdb.internal.LegacyBloomFilter:10");
}

// Parameters: partitioned, RocksDB's policy, layout of ours.
class MigrationTest
    : public ::testing::TestWithParam<std::tuple<bool, Stock, std::string>> {
 protected:
  void Open(const PolicyPtr& policy) {
    db_.Open(MakeOptions({policy, std::get<0>(GetParam())}));
  }
  void OpenStock() { Open(std::get<1>(GetParam()).make()); }
  void OpenOurs(const std::string& compatibility = "builtin") {
    Open(PolicyFromString("id=deltabloom:10:" + std::get<2>(GetParam()) +
                          ";compatibility=" + compatibility));
  }

  TestDb db_;
};

INSTANTIATE_TEST_SUITE_P(
    Policies, MigrationTest,
    ::testing::Combine(::testing::Bool(),
                       ::testing::Values(Stock{"Bloom", MakeBloom},
                                         Stock{"Ribbon", MakeRibbon},
                                         Stock{"LegacyBloom", MakeLegacyBloom}),
                       ::testing::ValuesIn(LayoutNames())),
    [](const auto& test) {
      return std::string(std::get<0>(test.param) ? "Partitioned" : "Full") +
             std::get<1>(test.param).name + "_" + std::get<2>(test.param);
    });

TEST_P(MigrationTest, TheirFiltersAreUsedUnderOurPolicy) {
  OpenStock();
  db_.Load(0, kKeys);
  OpenOurs();
  db_.ExpectFiltered(0, kKeys);
  ExpectFiltered(MultiGetAll(db_, 0, kKeys), kKeys);
  // Both kinds side by side, then all rewritten as ours.
  db_.Load(kKeys / 2, 2 * kKeys);
  db_.ExpectFiltered(0, 2 * kKeys);
  db_.Compact();
  db_.ExpectFiltered(0, 2 * kKeys);
}

TEST_P(MigrationTest, StockReadsEveryKeyOfOurs) {
  OpenOurs();
  db_.Load(0, kKeys);
  OpenStock();
  db_.ExpectUnfiltered(0, kKeys);  // ours match always
  ExpectNoneMissed(MultiGetAll(db_, 0, kKeys));
  db_.Rewrite();  // with stock's own filters
  db_.ExpectFiltered(0, kKeys);
}

TEST_P(MigrationTest, ThereAndBackAgain) {
  OpenStock();
  db_.Load(0, kKeys);
  OpenOurs();
  db_.Load(kKeys, 2 * kKeys);
  OpenStock();
  db_.ExpectFiltered(0, kKeys);
  ExpectNoneMissed(GetAll(db_, kKeys, 2 * kKeys));
  OpenOurs();
  db_.ExpectFiltered(0, 2 * kKeys);
}

TEST_P(MigrationTest, OwnNameIgnoresTheirFilters) {
  OpenStock();
  db_.Load(0, kKeys);
  OpenOurs();
  db_.Load(kKeys, 2 * kKeys);
  OpenOurs("own");
  db_.ExpectUnfiltered(0, 2 * kKeys);
  db_.Load(2 * kKeys, 3 * kKeys);
  db_.ExpectFiltered(2 * kKeys, 3 * kKeys);
}

TEST_P(MigrationTest, StockIgnoresOwnName) {
  OpenOurs("own");
  db_.Load(0, kKeys);
  OpenStock();
  db_.ExpectUnfiltered(0, kKeys);
}

TEST_P(MigrationTest, WithoutAnyPolicy) {
  OpenOurs();
  db_.Load(0, kKeys);
  Open(nullptr);
  ExpectNoneMissed(GetAll(db_, 0, kKeys));
}

}  // namespace
}  // namespace deltabloom::testing
