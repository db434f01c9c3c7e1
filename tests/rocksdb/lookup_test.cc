// No stored key is lost, and filters do their work, on every way by which
// RocksDB asks them.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "rocksdb/comparator.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/rocksdb/test_db.h"
#include "util/coding.h"

namespace deltabloom::testing {
namespace {

constexpr int kKeys = 2000;

// Parameters: partitioned, what follows "id=deltabloom" in the policy's text.
class LookupTest
    : public ::testing::TestWithParam<std::tuple<bool, std::string>> {
 protected:
  DbConfig MakeConfig() const {
    DbConfig config;
    config.partitioned = std::get<0>(GetParam());
    config.policy = PolicyFromString("id=deltabloom" + std::get<1>(GetParam()));
    return config;
  }

  TempDir dir_;
};

std::vector<std::string> PolicyTexts() {
  std::vector<std::string> texts = {";compatibility=own"};
  for (const std::string& layout : LayoutNames()) {
    texts.push_back(":9.9:" + layout);
  }
  return texts;
}

INSTANTIATE_TEST_SUITE_P(
    Policies, LookupTest,
    ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(PolicyTexts())));

TEST_P(LookupTest, GetAndMultiGetAlsoAfterReopen) {
  const rocksdb::Options options = MakeOptions(MakeConfig());
  auto db = Open(options, dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  for (int round = 0; round < 2; ++round) {
    ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
    ExpectFiltered(MultiGetAll(db.get(), 0, kKeys), kKeys);
    db.reset();
    db = Open(options, dir_.Path("db"));
  }
}

TEST_P(LookupTest, TablesHoldFilters) {
  const auto db = Open(MakeOptions(MakeConfig()), dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  rocksdb::TablePropertiesCollection tables;
  ASSERT_ROCKSDB_OK(db->GetPropertiesOfAllTables(&tables));
  ASSERT_EQ(tables.size(), 1u);
  const rocksdb::TableProperties& properties = *tables.begin()->second;
  EXPECT_EQ(properties.filter_policy_name, "deltabloom");
  EXPECT_EQ(properties.num_filter_entries, static_cast<uint64_t>(kKeys));
  EXPECT_GT(properties.filter_size, kKeys * 9u / 8);
  EXPECT_LT(properties.filter_size, kKeys * 10u / 8 + kKeys / 2);
}

TEST_P(LookupTest, ReadOnlyAndSecondaryInstances) {
  const rocksdb::Options options = MakeOptions(MakeConfig());
  const auto db = Open(options, dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  rocksdb::Options other = options;
  other.statistics = rocksdb::CreateDBStatistics();
  std::unique_ptr<rocksdb::DB> read_only;
  ASSERT_ROCKSDB_OK(rocksdb::DB::OpenForReadOnly(other, dir_.Path("db"),
                                                 OpensInto(&read_only)));
  ExpectFiltered(GetAll(read_only.get(), 0, kKeys), kKeys);

  other.statistics = rocksdb::CreateDBStatistics();
  other.max_open_files = -1;
  std::unique_ptr<rocksdb::DB> secondary;
  ASSERT_ROCKSDB_OK(rocksdb::DB::OpenAsSecondary(
      other, dir_.Path("db"), dir_.Path("secondary"), OpensInto(&secondary)));
  Load(db.get(), kKeys, 2 * kKeys);
  ASSERT_ROCKSDB_OK(secondary->TryCatchUpWithPrimary());
  ExpectFiltered(GetAll(secondary.get(), 0, 2 * kKeys), 2 * kKeys);
}

TEST_P(LookupTest, Checkpoint) {
  const rocksdb::Options options = MakeOptions(MakeConfig());
  const auto db = Open(options, dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  rocksdb::Checkpoint* made = nullptr;
  ASSERT_ROCKSDB_OK(rocksdb::Checkpoint::Create(db.get(), &made));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  ASSERT_ROCKSDB_OK(checkpoint->CreateCheckpoint(dir_.Path("copy")));
  const auto copy = Open(options, dir_.Path("copy"));
  ExpectFiltered(GetAll(copy.get(), 0, kKeys), kKeys);
}

TEST_P(LookupTest, Compaction) {
  DbConfig config = MakeConfig();
  config.change = [](rocksdb::Options* options,
                     rocksdb::BlockBasedTableOptions*) {
    options->target_file_size_base = 64 << 10;
  };
  const auto db = Open(MakeOptions(config), dir_.Path("db"));
  // Runs that overlap.
  for (int run = 0; run < 4; ++run) {
    for (int i = run; i < kKeys; i += 4) {
      const std::string key = Key(2 * i);
      ASSERT_ROCKSDB_OK(db->Put({}, key, Value(key)));
    }
    ASSERT_ROCKSDB_OK(db->Flush({}));
  }
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
  ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
  std::string files;
  ASSERT_TRUE(db->GetProperty("rocksdb.num-files-at-level0", &files));
  ASSERT_EQ(files, "0");
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
  ExpectFiltered(MultiGetAll(db.get(), 0, kKeys), kKeys);
}

TEST_P(LookupTest, Ingestion) {
  const rocksdb::Options options = MakeOptions(MakeConfig());
  const auto db = Open(options, dir_.Path("db"));
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  ASSERT_ROCKSDB_OK(writer.Open(dir_.Path("external.sst")));
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_ROCKSDB_OK(writer.Put(Key(2 * i), Value(Key(2 * i))));
  }
  ASSERT_ROCKSDB_OK(writer.Finish());
  ASSERT_ROCKSDB_OK(db->IngestExternalFile({dir_.Path("external.sst")}, {}));
  ExpectFiltered(GetAll(db.get(), 0, kKeys), kKeys);
}

TEST_P(LookupTest, ColumnFamilies) {
  const rocksdb::Options options = MakeOptions(MakeConfig());
  const auto db = Open(options, dir_.Path("db"));
  // One with this policy, one without any.
  rocksdb::ColumnFamilyHandle* with = nullptr;
  rocksdb::ColumnFamilyHandle* without = nullptr;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(options, "with", &with));
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily({}, "without", &without));
  for (rocksdb::ColumnFamilyHandle* family : {with, without}) {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_ROCKSDB_OK(
          db->Put({}, family, Key(2 * i), Value(family->GetName())));
    }
    ASSERT_ROCKSDB_OK(db->Flush({}, family));
    options.statistics->Reset();
    std::string value;
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_ROCKSDB_OK(db->Get({}, family, Key(2 * i), &value));
      EXPECT_EQ(value, Value(family->GetName()));
      EXPECT_TRUE(db->Get({}, family, Key(2 * i + 1), &value).IsNotFound());
    }
    const uint64_t useful =
        options.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
    if (family == with) {
      EXPECT_GT(useful, kKeys * 9u / 10);
    } else {
      EXPECT_EQ(useful, 0u);
    }
    ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));
  }
}

// Seeks that a filter answered.
uint64_t FilteredSeeks(const rocksdb::Statistics& statistics) {
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 803
  return statistics.getTickerCount(rocksdb::LAST_LEVEL_SEEK_FILTERED) +
         statistics.getTickerCount(rocksdb::NON_LAST_LEVEL_SEEK_FILTERED);
#else
  return statistics.getTickerCount(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
#endif
}

// Seeks to every prefix; of those without keys, filters must skip most.
void SeekPrefixes(rocksdb::DB* db, int prefixes, size_t keys_per_prefix) {
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  rocksdb::ReadOptions read;
  read.prefix_same_as_start = true;
  for (int i = 0; i < 2 * prefixes; ++i) {
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(read));
    size_t found = 0;
    for (it->Seek(Key(i)); it->Valid(); it->Next()) ++found;
    EXPECT_ROCKSDB_OK(it->status());
    EXPECT_EQ(found, i % 2 == 0 ? keys_per_prefix : 0u) << i;
    // Backwards too.
    found = 0;
    it->SeekForPrev(Key(i) + "~");
    for (; it->Valid(); it->Prev()) ++found;
    EXPECT_EQ(found, i % 2 == 0 ? keys_per_prefix : 0u) << i;
  }
  EXPECT_GT(FilteredSeeks(*statistics),
            static_cast<uint64_t>(prefixes) * 8 / 10);
}

// With whole keys in the filter, and with prefixes only: then there are
// partitions that hold nothing but a prefix.
TEST_P(LookupTest, PrefixSeeks) {
  constexpr int kPrefixes = 300;
  constexpr size_t kKeysPerPrefix = 7;
  for (const bool whole_keys : {true, false}) {
    DbConfig config = MakeConfig();
    config.change = [whole_keys](rocksdb::Options* options,
                                 rocksdb::BlockBasedTableOptions* table) {
      options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(12));
      table->whole_key_filtering = whole_keys;
      table->block_size = 256;
      table->metadata_block_size = 64;
    };
    const auto db =
        Open(MakeOptions(config), dir_.Path(whole_keys ? "whole" : "prefixes"));
    for (int i = 0; i < kPrefixes; ++i) {
      for (size_t k = 0; k < kKeysPerPrefix; ++k) {
        ASSERT_ROCKSDB_OK(db->Put({}, Key(2 * i) + "/" + std::to_string(k),
                                  std::string(100, 'v')));
      }
    }
    ASSERT_ROCKSDB_OK(db->Flush({}));
    SeekPrefixes(db.get(), kPrefixes, kKeysPerPrefix);
    ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
    SeekPrefixes(db.get(), kPrefixes, kKeysPerPrefix);
    std::string value;
    for (int i = 0; i < kPrefixes; ++i) {
      ASSERT_ROCKSDB_OK(db->Get({}, Key(2 * i) + "/3", &value));
    }
  }
}

// Every way in which RocksDB sizes filters and cuts partitions; prefixes and
// whole keys, so that from 9.6.1 on they come through AddKeyAndAlt.
TEST_P(LookupTest, SizesAndPartitions) {
  constexpr int kPrefixes = 100;
  constexpr int kKeysPerPrefix = 8;
  for (const bool optimize : {false, true}) {
    for (const bool decouple : {false, true}) {
      DbConfig config = MakeConfig();
      config.change = [&](rocksdb::Options* options,
                          rocksdb::BlockBasedTableOptions* table) {
        options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(12));
        table->optimize_filters_for_memory = optimize;
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 906
        table->decouple_partitioned_filters = decouple;
#endif
        table->block_size = 256;
        table->metadata_block_size = 128;
      };
      const auto db =
          Open(MakeOptions(config),
               dir_.Path(std::to_string(optimize) + std::to_string(decouple)));
      const auto key = [](int prefix, int k) {
        return Key(prefix) + "/" + std::to_string(k);
      };
      for (int i = 0; i < kPrefixes; ++i) {
        for (int k = 0; k < kKeysPerPrefix; ++k) {
          ASSERT_ROCKSDB_OK(db->Put({}, key(2 * i, k), Value(key(2 * i, k))));
        }
      }
      ASSERT_ROCKSDB_OK(db->Flush({}));
      for (int round = 0; round < 2; ++round) {
        SeekPrefixes(db.get(), kPrefixes, kKeysPerPrefix);
        const auto statistics = db->GetOptions().statistics;
        statistics->Reset();
        std::string value;
        for (int i = 0; i < 2 * kPrefixes; ++i) {
          for (int k = 0; k < kKeysPerPrefix; ++k) {
            const rocksdb::Status status = db->Get({}, key(i, k), &value);
            EXPECT_EQ(status.ok(), i % 2 == 0) << key(i, k);
            EXPECT_TRUE(status.ok() || status.IsNotFound());
          }
        }
        EXPECT_GT(statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL),
                  uint64_t{kPrefixes} * kKeysPerPrefix * 9 / 10);
        ASSERT_ROCKSDB_OK(db->CompactRange({}, nullptr, nullptr));
      }
    }
  }
}

// One prefix over many partitions, all but the first without a key of its own.
TEST_P(LookupTest, PartitionsOfOnePrefix) {
  DbConfig config = MakeConfig();
  config.change = [](rocksdb::Options* options,
                     rocksdb::BlockBasedTableOptions* table) {
    options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
    table->whole_key_filtering = false;
    table->block_size = 256;
    table->metadata_block_size = 64;
  };
  const auto db = Open(MakeOptions(config), dir_.Path("db"));
  Load(db.get(), 0, kKeys);
  rocksdb::ReadOptions read;
  read.prefix_same_as_start = true;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(read));
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
    EXPECT_ROCKSDB_OK(db->Get({}, Key(2 * i), &value));
  }
}

// Byte order of the keys, then the newest first.
class TimestampComparator : public rocksdb::Comparator {
 public:
  TimestampComparator() : Comparator(sizeof(uint64_t)) {}
  const char* Name() const override { return "test.Timestamp"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    const int keys = CompareWithoutTimestamp(a, true, b, true);
    return keys != 0 ? keys : -CompareTimestamp(Time(a), Time(b));
  }
  using Comparator::CompareWithoutTimestamp;
  int CompareWithoutTimestamp(const rocksdb::Slice& a, bool a_has_time,
                              const rocksdb::Slice& b,
                              bool b_has_time) const override {
    return UserKey(a, a_has_time).compare(UserKey(b, b_has_time));
  }
  int CompareTimestamp(const rocksdb::Slice& a,
                       const rocksdb::Slice& b) const override {
    const uint64_t x = internal::LoadFixed64(a.data());
    const uint64_t y = internal::LoadFixed64(b.data());
    return x < y ? -1 : x > y;
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  rocksdb::Slice Time(const rocksdb::Slice& key) const {
    return {key.data() + key.size() - timestamp_size(), timestamp_size()};
  }
  rocksdb::Slice UserKey(const rocksdb::Slice& key, bool has_time) const {
    return {key.data(), key.size() - (has_time ? timestamp_size() : 0)};
  }
};

std::string Timestamp(uint64_t time) {
  std::string bytes(sizeof(time), '\0');
  internal::StoreFixed64(bytes.data(), time);
  return bytes;
}

TEST_P(LookupTest, UserDefinedTimestamps) {
  const TimestampComparator comparator;
  DbConfig config = MakeConfig();
  config.change = [&comparator](rocksdb::Options* options,
                                rocksdb::BlockBasedTableOptions*) {
    options->comparator = &comparator;
  };
  const auto db = Open(MakeOptions(config), dir_.Path("db"));
  for (const uint64_t time : {1u, 5u}) {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_ROCKSDB_OK(db->Put({}, Key(2 * i), Timestamp(time),
                                Value(std::to_string(time))));
    }
  }
  ASSERT_ROCKSDB_OK(db->Flush({}));
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  for (const uint64_t time : {1u, 3u, 9u}) {
    const std::string timestamp = Timestamp(time);
    const rocksdb::Slice slice(timestamp);
    rocksdb::ReadOptions read;
    read.timestamp = &slice;
    std::string value;
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_ROCKSDB_OK(db->Get(read, Key(2 * i), &value));
      EXPECT_EQ(value, Value(time >= 5 ? "5" : "1"));
      EXPECT_TRUE(db->Get(read, Key(2 * i + 1), &value).IsNotFound());
    }
  }
  EXPECT_GT(statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL),
            3 * kKeys * 9u / 10);
}

}  // namespace
}  // namespace deltabloom::testing
