// Finds in real files what the engines say is there.
#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_reader.h>

#include "deltabloom/filter_block.h"
#include "deltabloom/rocksdb.h"
#include "table/framing.h"
#include "table/sst/sst.h"
#include "tests/rocksdb/test_db.h"
#include "tests/sst/crafted.h"
#include "tests/sst/real_tables.h"

namespace deltabloom {
namespace {

using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;

std::unique_ptr<internal::SstSource> Open(const std::string& path) {
  std::string error;
  auto source = internal::OpenSstFile(path, &error);
  EXPECT_NE(source, nullptr) << error;
  return source;
}

// Against the properties that RocksDB reads.
void ExpectAsRocksDBSays(const std::string& path,
                         const test::RocksTable& table) {
  const rocksdb::TableProperties properties = test::PropertiesOf(path);
  ASSERT_GT(properties.filter_size, 0u);
  const auto source = Open(path);
  SstFile file;
  ASSERT_EQ(internal::WalkSst(*source, &file), "");
  // RocksDB itself turns 0 into 1 when the checksum is not CRC32c.
  const bool raised =
      table.format_version == 0 && table.checksum != rocksdb::kCRC32c;
  EXPECT_EQ(file.format_version,
            raised ? 1u : static_cast<uint32_t>(table.format_version));
  EXPECT_EQ(static_cast<int>(file.checksum), static_cast<int>(table.checksum));
  uint64_t value = 0;
  ASSERT_TRUE(file.properties.Number("rocksdb.num.filter_entries", &value));
  EXPECT_EQ(value, properties.num_filter_entries);
  EXPECT_EQ(value, table.keys);
  std::string_view comparator;
  ASSERT_TRUE(file.properties.Text("rocksdb.comparator", &comparator));
  EXPECT_EQ(comparator, properties.comparator_name);
  EXPECT_FALSE(file.properties.Text("rocksdb.no.such.property", &comparator));
  EXPECT_FALSE(file.properties.Number("rocksdb.no.such.property", &value));
  EXPECT_FALSE(file.properties.Number("rocksdb.comparator", &value));

  ASSERT_EQ(file.filters.size(), 1u);
  const SstFilter& filter = file.filters[0];
  EXPECT_EQ(filter.policy, table.policy->CompatibilityName());
  std::string bytes;
  if (!table.partitioned) {
    EXPECT_EQ(filter.scope, FilterScope::kFull);
    EXPECT_EQ(filter.handle.size, properties.filter_size);
    EXPECT_EQ(filter.partitions, 0u);
    EXPECT_EQ(filter.bytes, properties.filter_size);
    EXPECT_EQ(internal::ReadBlock(*source, file, filter.handle, &bytes), "");
    EXPECT_EQ(bytes.size(), properties.filter_size);
    return;
  }
  EXPECT_EQ(filter.scope, FilterScope::kPartitioned);
  EXPECT_GT(filter.partitions, 2u);
  if (!table.decoupled) {
    EXPECT_EQ(filter.partitions, properties.index_partitions);
  }
  EXPECT_EQ(filter.handle.size + filter.bytes, properties.filter_size);
  std::string last_key;
  for (const auto& partition : test::PartitionsOf(*source, file, filter)) {
    EXPECT_EQ(internal::ReadBlock(*source, file, partition.handle, &bytes), "");
    EXPECT_EQ(bytes.size(), partition.handle.size);
    EXPECT_LT(last_key, partition.last_key);
    last_key = partition.last_key;
  }
  EXPECT_GE(last_key, test::TableKey(table.keys - 1));
}

TEST(RealTables, RocksDBEveryVersionChecksumAndCompression) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("table.sst");
  test::RocksTable table;
  table.policy.reset(rocksdb::NewBloomFilterPolicy(10));
  for (table.format_version = test::kFirstFormatVersion;
       table.format_version <= test::kLastFormatVersion;
       ++table.format_version) {
    for (const auto checksum :
         {rocksdb::kNoChecksum, rocksdb::kCRC32c, rocksdb::kxxHash,
          rocksdb::kxxHash64, rocksdb::kXXH3}) {
      table.checksum = checksum;
      for (const auto compression : rocksdb::GetSupportedCompressions()) {
        table.compression = compression;
        for (const bool partitioned : {false, true}) {
          table.partitioned = partitioned;
          SCOPED_TRACE("format_version " +
                       std::to_string(table.format_version) + " checksum " +
                       std::to_string(checksum) + " compression " +
                       std::to_string(compression) +
                       (partitioned ? " partitioned" : " full"));
          table.Write(path);
          ExpectAsRocksDBSays(path, table);
        }
      }
    }
  }
}

TEST(RealTables, RocksDBOtherFilters) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("table.sst");
  test::RocksTable table;
  for (const char* policy : {"ribbonfilter:10", "bloomfilter:24:false",
                             "rocksdb.internal.LegacyBloomFilter:10"}) {
    SCOPED_TRACE(policy);
    ASSERT_TRUE(rocksdb::FilterPolicy::CreateFromString(
                    rocksdb::ConfigOptions(), policy, &table.policy)
                    .ok());
    ASSERT_NE(table.policy, nullptr);
    for (const bool partitioned : {false, true}) {
      table.partitioned = partitioned;
      table.decoupled = partitioned;
      table.Write(path);
      ExpectAsRocksDBSays(path, table);
    }
  }
}

// Filters of Deltabloom's own: found, sealed, and holding every key.
void ExpectDeltabloomFilters(const std::string& path, uint64_t keys) {
  const auto source = Open(path);
  SstFile file;
  ASSERT_EQ(internal::WalkSst(*source, &file), "");
  const SstFilter& filter = file.filters.at(0);
  std::vector<test::Partition> parts =
      test::PartitionsOf(*source, file, filter);
  if (parts.empty()) parts.push_back({"~", filter.handle});
  uint64_t absent = 0;
  uint64_t key = 0;
  for (const test::Partition& part : parts) {
    std::string bytes;
    ASSERT_EQ(internal::ReadBlock(*source, file, part.handle, &bytes), "");
    internal::ParsedFilter parsed;
    std::string why;
    ASSERT_EQ(
        internal::ParseSealed(bytes, internal::ActiveCpu(), &parsed, &why),
        internal::FilterKind::kFilter)
        << why;
    for (; key < keys && test::TableKey(key) <= part.last_key; ++key) {
      ASSERT_TRUE(parsed.may_match(parsed, test::TableKey(key))) << key;
      absent += !parsed.may_match(parsed, "absent" + test::TableKey(key));
    }
  }
  EXPECT_EQ(key, keys);
  EXPECT_GT(absent, keys * 9 / 10);
}

TEST(RealTables, DeltabloomInRocksDB) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("table.sst");
  test::RocksTable table;
  for (const auto name :
       {RocksDBCompatibility::kBuiltin, RocksDBCompatibility::kOwn}) {
    RocksDBFilterOptions options;
    options.compatibility = name;
    std::string error;
    table.policy = NewRocksDBFilterPolicy(options, &error);
    ASSERT_NE(table.policy, nullptr) << error;
    for (const bool partitioned : {false, true}) {
      SCOPED_TRACE(partitioned);
      table.partitioned = partitioned;
      for (table.format_version = test::kFirstFormatVersion;
           table.format_version <= test::kLastFormatVersion;
           ++table.format_version) {
        SCOPED_TRACE(table.format_version);
        table.checksum =
            table.format_version == 0 ? rocksdb::kCRC32c : rocksdb::kXXH3;
        table.Write(path);
        ExpectAsRocksDBSays(path, table);
        ExpectDeltabloomFilters(path, table.keys);
      }
    }
  }
}

TEST(RealTables, NoFilter) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("table.sst");
  test::RocksTable().Write(path);
  SstFile file;
  EXPECT_EQ(internal::WalkSst(*Open(path), &file), "");
  EXPECT_TRUE(file.filters.empty());
  EXPECT_FALSE(file.properties.empty());
  test::LevelTable().Write(path);
  EXPECT_EQ(internal::WalkSst(*Open(path), &file), "");
  EXPECT_TRUE(file.filters.empty());
  EXPECT_TRUE(file.properties.empty());
}

// RocksDB writes a sequence number into the properties of a file that it takes
// in, behind the back of their checksum.
TEST(RealTables, RocksDBIngestedFile) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("table.sst");
  test::RocksTable table;
  table.policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.Write(path);
  const std::string before = test::ReadFile(path);

  rocksdb::Options options = table.Options();
  options.create_if_missing = true;
  const auto database = testing::Open(options, directory.File("database"));
  ASSERT_NE(database, nullptr);
  // A newer file needs a number if an older key is covered by it.
  ASSERT_TRUE(database->Put({}, test::TableKey(5), "old").ok());
  rocksdb::IngestExternalFileOptions ingest;
  ingest.write_global_seqno = true;
  ASSERT_TRUE(database->IngestExternalFile({path}, ingest).ok());
  std::vector<rocksdb::LiveFileMetaData> files;
  database->GetLiveFilesMetaData(&files);
  std::string ingested;
  for (const auto& file : files) {
    const std::string candidate = file.db_path + file.name;
    if (file.num_entries == table.keys) ingested = candidate;
  }
  ASSERT_NE(ingested, "");
  EXPECT_NE(test::ReadFile(ingested), before);

  SstFile file;
  EXPECT_EQ(internal::WalkSst(*Open(ingested), &file), "");
  uint64_t keys = 0;
  EXPECT_TRUE(file.properties.Number("rocksdb.num.filter_entries", &keys));
  EXPECT_EQ(keys, table.keys);
}

void ExpectLevelDBFilter(const std::string& path, const std::string& policy,
                         const FilterPolicy& reads) {
  const auto source = Open(path);
  SstFile file;
  ASSERT_EQ(internal::WalkSst(*source, &file), "");
  EXPECT_EQ(file.format_version, 0u);
  EXPECT_EQ(file.checksum, internal::ChecksumType::kCrc32c);
  EXPECT_TRUE(file.properties.empty());
  ASSERT_EQ(file.filters.size(), 1u);
  const SstFilter& filter = file.filters[0];
  EXPECT_EQ(filter.scope, FilterScope::kPerBlock);
  EXPECT_EQ(filter.policy, policy);
  std::string block;
  ASSERT_EQ(internal::ReadBlock(*source, file, filter.handle, &block), "");
  const FilterBlockReader reader(&reads, block);
  EXPECT_GT(reader.NumWindows(), 3u);
  EXPECT_TRUE(reader.KeyMayMatch(0, test::TableKey(0)));
  EXPECT_FALSE(reader.KeyMayMatch(0, test::TableKey(1999)));
}

TEST(RealTables, LevelDB) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("table.ldb");
  const std::unique_ptr<const leveldb::FilterPolicy> policy(
      leveldb::NewBloomFilterPolicy(20));
  FilterOptions options;
  options.hash = Hash::kLevelDB;
  const auto reads = NewFilterPolicy(options);
  for (const bool snappy : {false, true}) {
    SCOPED_TRACE(snappy);
    test::LevelTable table;
    table.policy = policy.get();
    table.snappy = snappy;
    table.Write(path);
    ExpectLevelDBFilter(path, "leveldb.BuiltinBloomFilter2", *reads);
  }
}

// LevelDB compresses its metaindex like any block. A name that repeats itself
// makes that worth while.
class LongNamePolicy : public leveldb::FilterPolicy {
 public:
  explicit LongNamePolicy(const leveldb::FilterPolicy* bloom) : bloom_(bloom) {}
  const char* Name() const override { return name_.c_str(); }
  void CreateFilter(const leveldb::Slice* keys, int n,
                    std::string* dst) const override {
    bloom_->CreateFilter(keys, n, dst);
  }
  bool KeyMayMatch(const leveldb::Slice& key,
                   const leveldb::Slice& filter) const override {
    return bloom_->KeyMayMatch(key, filter);
  }

 private:
  const leveldb::FilterPolicy* bloom_;
  const std::string name_ = "long." + std::string(500, 'x');
};

TEST(RealTables, LevelDBCompressedMetaindex) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("table.ldb");
  const std::unique_ptr<const leveldb::FilterPolicy> bloom(
      leveldb::NewBloomFilterPolicy(20));
  const LongNamePolicy policy(bloom.get());
  test::LevelTable table;
  table.policy = &policy;
  table.snappy = true;
  table.Write(path);
  // It is compressed indeed: the name is not to be seen.
  EXPECT_EQ(test::ReadFile(path).find(policy.Name()), std::string::npos);
  FilterOptions options;
  options.hash = Hash::kLevelDB;
  ExpectLevelDBFilter(path, policy.Name(), *NewFilterPolicy(options));
}

}  // namespace
}  // namespace deltabloom
