// Tables that the engines wrote: the walk finds what they say is there; and,
// damaged, an error each time, never a crash and never bytes from outside of
// the file. Worth most under the address sanitizer.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"
#include "deltabloom/rocksdb.h"
#include "table/framing.h"
#include "tests/folder.h"
#include "tests/rocksdb/test_db.h"
#include "tests/sst/crafted.h"
#include "tests/sst/real_tables.h"
#include "tests/test_data.h"
#include "tools/sst/sst.h"
#include "util/cpu.h"
#include "util/parsed_filter.h"

namespace deltabloom::test {
namespace {

using namespace internal;

const std::unique_ptr<const leveldb::FilterPolicy> kLevelBloom(
    leveldb::NewBloomFilterPolicy(20));

// A file of each test's own.
class RealTables : public ::testing::Test {
 protected:
  const testing::TempDir directory_;
  const std::string path_ = directory_.Path("table");
};
using DamagedTables = RealTables;

// --- Tables of RocksDB -------------------------------------------------------

// Against the properties that RocksDB reads.
void ExpectAsRocksDBSays(const std::string& path, const RocksTable& table) {
  const rocksdb::TableProperties properties = PropertiesOf(path);
  ASSERT_GT(properties.filter_size, 0u);
  const Walked walked(ReadFile(path));
  const SstFile& file = walked.file;
  // RocksDB itself turns 0 into 1 when the checksum is not CRC32c.
  const bool raised =
      table.format_version == 0 && table.checksum != rocksdb::kCRC32c;
  EXPECT_EQ(file.format_version,
            raised ? 1u : static_cast<uint32_t>(table.format_version));
  EXPECT_EQ(static_cast<int>(file.checksum), static_cast<int>(table.checksum));
  uint64_t value = walked.Number("rocksdb.num.filter_entries");
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
  if (!table.partitioned) {
    EXPECT_EQ(filter.scope, FilterScope::kFull);
    EXPECT_EQ(filter.handle.size, properties.filter_size);
    EXPECT_EQ(filter.partitions, 0u);
    EXPECT_EQ(filter.bytes, properties.filter_size);
    EXPECT_EQ(walked.Read(filter.handle).size(), properties.filter_size);
    return;
  }
  EXPECT_EQ(filter.scope, FilterScope::kPartitioned);
  EXPECT_GT(filter.partitions, 2u);
  if (!table.decoupled) {
    EXPECT_EQ(filter.partitions, properties.index_partitions);
  }
  EXPECT_EQ(filter.handle.size + filter.bytes, properties.filter_size);
  std::string last_key;
  for (const auto& partition : walked.Parts(filter)) {
    EXPECT_EQ(walked.Read(partition.handle).size(), partition.handle.size);
    EXPECT_LT(last_key, partition.last_key);
    last_key = partition.last_key;
  }
  EXPECT_GE(last_key, TableKey(table.keys - 1));
}

TEST_F(RealTables, RocksDBEveryVersionChecksumAndCompression) {
  RocksTable table;
  table.policy.reset(rocksdb::NewBloomFilterPolicy(10));
  for (table.format_version = kFirstFormatVersion;
       table.format_version <= kLastFormatVersion; ++table.format_version) {
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
          table.Write(path_);
          ExpectAsRocksDBSays(path_, table);
        }
      }
    }
  }
}

TEST_F(RealTables, RocksDBOtherFilters) {
  RocksTable table;
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
      table.Write(path_);
      ExpectAsRocksDBSays(path_, table);
    }
  }
}

// Filters of Deltabloom's own: found, sealed, and holding every key.
void ExpectDeltabloomFilters(const std::string& path, uint64_t keys) {
  const Walked walked(ReadFile(path));
  uint64_t absent = 0;
  uint64_t key = 0;
  for (const Partition& part : walked.Parts(walked.file.filters.at(0))) {
    const std::string bytes = walked.Read(part.handle);
    ParsedFilter parsed;
    std::string why;
    ASSERT_EQ(ParseSealed(bytes, ActiveCpu(), nullptr, &parsed, &why),
              FilterKind::kFilter)
        << why;
    for (; key < keys && TableKey(key) <= part.last_key; ++key) {
      ASSERT_TRUE(parsed.may_match(parsed, TableKey(key))) << key;
      absent += !parsed.may_match(parsed, "absent" + TableKey(key));
    }
  }
  EXPECT_EQ(key, keys);
  EXPECT_GT(absent, keys * 9 / 10);
}

TEST_F(RealTables, DeltabloomInRocksDB) {
  RocksTable table;
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
      for (table.format_version = kFirstFormatVersion;
           table.format_version <= kLastFormatVersion; ++table.format_version) {
        SCOPED_TRACE(table.format_version);
        table.checksum =
            table.format_version == 0 ? rocksdb::kCRC32c : rocksdb::kXXH3;
        table.Write(path_);
        ExpectAsRocksDBSays(path_, table);
        ExpectDeltabloomFilters(path_, table.keys);
      }
    }
  }
}

TEST_F(RealTables, NoFilter) {
  for (const bool rocks : {true, false}) {
    rocks ? RocksTable().Write(path_) : LevelTable().Write(path_);
    const SstFile file = Walked(ReadFile(path_)).file;
    EXPECT_TRUE(file.filters.empty());
    EXPECT_EQ(file.properties.empty(), !rocks);
  }
}

// RocksDB before 11.10 can write a sequence number into the properties of a
// file that it takes in, after their checksum was made.
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR < 1110
TEST_F(RealTables, RocksDBIngestedFile) {
  RocksTable table;
  table.policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.Write(path_);
  const std::string before = ReadFile(path_);

  rocksdb::Options options = table.Options();
  options.create_if_missing = true;
  const auto database = testing::Open(options, directory_.Path("database"));
  ASSERT_NE(database, nullptr);
  // A newer file needs a number if an older key is covered by it.
  ASSERT_TRUE(database->Put({}, TableKey(5), "old").ok());
  rocksdb::IngestExternalFileOptions ingest;
  ingest.write_global_seqno = true;
  ASSERT_TRUE(database->IngestExternalFile({path_}, ingest).ok());
  std::vector<rocksdb::LiveFileMetaData> files;
  database->GetLiveFilesMetaData(&files);
  std::string ingested;
  for (const auto& file : files) {
    const std::string candidate = file.db_path + file.name;
    if (file.num_entries == table.keys) ingested = candidate;
  }
  ASSERT_NE(ingested, "");
  EXPECT_NE(ReadFile(ingested), before);

  EXPECT_EQ(Walked(ReadFile(ingested)).Number("rocksdb.num.filter_entries"),
            table.keys);
}
#endif

// --- Tables of LevelDB -------------------------------------------------------

void ExpectLevelDBFilter(const std::string& path, const std::string& policy) {
  FilterOptions options;
  options.hash = Hash::kLevelDB;
  const auto reads = NewFilterPolicy(options);
  const Walked walked(ReadFile(path));
  const SstFile& file = walked.file;
  EXPECT_EQ(file.format_version, 0u);
  EXPECT_EQ(file.checksum, ChecksumType::kCrc32c);
  EXPECT_TRUE(file.properties.empty());
  ASSERT_EQ(file.filters.size(), 1u);
  const SstFilter& filter = file.filters[0];
  EXPECT_EQ(filter.scope, FilterScope::kPerBlock);
  EXPECT_EQ(filter.policy, policy);
  const std::string block = walked.Read(filter.handle);
  const FilterBlockReader reader(reads.get(), block);
  EXPECT_GT(reader.NumWindows(), 3u);
  EXPECT_TRUE(reader.KeyMayMatch(0, TableKey(0)));
  EXPECT_FALSE(reader.KeyMayMatch(0, TableKey(1999)));
}

TEST_F(RealTables, LevelDB) {
  for (const bool snappy : {false, true}) {
    SCOPED_TRACE(snappy);
    LevelTable table;
    table.policy = kLevelBloom.get();
    table.snappy = snappy;
    table.Write(path_);
    ExpectLevelDBFilter(path_, "leveldb.BuiltinBloomFilter2");
  }
}

// LevelDB compresses its metaindex like any block, if its names repeat bytes.
TEST_F(RealTables, LevelDBCompressedMetaindex) {
  const NamedPolicy policy("long." + std::string(500, 'x'));
  LevelTable table;
  table.policy = &policy;
  table.snappy = true;
  table.Write(path_);
  // It is compressed: the name does not occur.
  EXPECT_EQ(ReadFile(path_).find(policy.Name()), std::string::npos);
  ExpectLevelDBFilter(path_, policy.Name());
}

// Writes the tables of tests/data/sst anew into $DELTABLOOM_WRITE_TABLES: to be
// run with RocksDB 9.10, whose default is format_version 6.
TEST_F(RealTables, DISABLED_WriteData) {
  const std::string prefix =
      std::string(std::getenv("DELTABLOOM_WRITE_TABLES")) + "/rocksdb_" +
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "_";
  RocksTable table;
  table.format_version = 6;
  table.policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.keys = 100;
  table.Write(prefix + "full_xxh3.sst");
  table.checksum = rocksdb::kNoChecksum;
  table.Write(prefix + "full_none.sst");
  table.partitioned = true;
  table.metadata_block_size = 64;
  table.checksum = rocksdb::kXXH3;
  table.Write(prefix + "partitioned_xxh3.sst");
  table.checksum = rocksdb::kCRC32c;
  table.Write(prefix + "partitioned_crc32c.sst");
}

// --- Damaged tables ----------------------------------------------------------

struct Sample {
  std::string name;
  std::string bytes;
  SstFile file;  // undamaged
};

// Each kind of footer, checksum and filter once; small, for the loops below.
std::vector<Sample> Samples(const std::string& path) {
  std::vector<Sample> samples;
  const auto take = [&](const std::string& name) {
    const std::string bytes = ReadFile(path);
    samples.push_back({name, bytes, Walked(bytes).file});
  };
  LevelTable level;
  level.policy = kLevelBloom.get();
  level.keys = 300;
  level.Write(path);
  take("LevelDB");

  RocksTable rocks;
  rocks.policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocks.keys = 300;
  const rocksdb::ChecksumType checksums[] = {
      rocksdb::kCRC32c,   rocksdb::kCRC32c,     rocksdb::kxxHash,
      rocksdb::kxxHash64, rocksdb::kNoChecksum, rocksdb::kXXH3,
      rocksdb::kxxHash,   rocksdb::kXXH3,       rocksdb::kCRC32c};
  for (rocks.format_version = kFirstFormatVersion;
       rocks.format_version <= kLastFormatVersion; ++rocks.format_version) {
    rocks.checksum = checksums[rocks.format_version];
    for (const bool partitioned : {false, true}) {
      rocks.partitioned = partitioned;
      rocks.Write(path);
      take("RocksDB format_version " + std::to_string(rocks.format_version) +
           (partitioned ? " partitioned" : " full"));
    }
  }
  for (const char* name : {"full_xxh3", "full_none", "partitioned_crc32c"}) {
    std::filesystem::copy_file(
        DELTABLOOM_TEST_DATA "/sst/rocksdb_9.10_" + std::string(name) + ".sst",
        path, std::filesystem::copy_options::overwrite_existing);
    take(std::string("RocksDB 9.10 ") + name);
  }
  return samples;
}

// Returns the result of a walk as text, for comparison.
std::string Found(const Walked& table) {
  std::string text;
  for (const SstFilter& filter : table.file.filters) {
    text += filter.policy + " " + Handle(filter.handle);
    for (const auto& part : table.Parts(filter)) text += Handle(part.handle);
  }
  return text;
}

// Walks, and reads every filter found.
std::string WalkAndRead(const std::string& bytes, SstFile* file) {
  const MemorySource source(bytes);
  std::string error = WalkSst(source, file);
  for (size_t i = 0; i < file->filters.size() && error.empty(); ++i) {
    const SstFilter& filter = file->filters[i];
    std::string contents;
    error = ReadBlock(source, *file, filter.handle, &contents);
    if (!error.empty() || filter.scope != FilterScope::kPartitioned) continue;
    error = ForEachPartition(source, *file, filter,
                             [&](std::string_view, const BlockHandle& part) {
                               return ReadBlock(source, *file, part, &contents);
                             });
  }
  return error;
}

// Errors name the file and an offset in it.
void ExpectUseful(const std::string& error) {
  EXPECT_EQ(error.rfind("table in memory: offset ", 0), 0u) << error;
  EXPECT_NE(error.find("expected "), std::string::npos) << error;
  EXPECT_NE(error.find("found "), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

// Flips each bit of [begin, end). Without checksums an answer may be wrong;
// with them it is an error.
void FlipEveryBit(const Sample& sample, uint64_t begin, uint64_t end) {
  const bool guarded = sample.file.checksum != ChecksumType::kNone;
  const uint64_t version_at = sample.bytes.size() - 12;
  std::string bytes = sample.bytes;
  for (uint64_t at = begin; at < end; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
      SstFile file;
      const std::string error = WalkAndRead(bytes, &file);
      // A legal format_version in place of another does no harm: they differ in
      // what this walk does not read.
      const bool other_version =
          sample.file.format_version > 0 && at == version_at && error.empty();
      if (other_version) {
        EXPECT_NE(file.format_version, sample.file.format_version);
        EXPECT_EQ(Found(Walked(bytes)), Found(Walked(sample.bytes)));
      } else if (guarded || !error.empty()) {
        EXPECT_NE(error, "") << "byte " << at << " bit " << bit;
        ExpectUseful(error);
      }
      bytes[at] = sample.bytes[at];
    }
  }
}

void FlipEveryBitOf(const Sample& sample, const BlockHandle& block) {
  FlipEveryBit(sample, block.offset,
               block.offset + block.size + kBlockTrailerSize);
}

TEST_F(DamagedTables, EveryBitOfFooterAndMetaindex) {
  for (const Sample& sample : Samples(path_)) {
    SCOPED_TRACE(sample.name);
    FlipEveryBit(sample, sample.file.footer_offset, sample.bytes.size());
    FlipEveryBitOf(sample, sample.file.metaindex);
  }
}

TEST_F(DamagedTables, EveryBitOfFiltersAndPartitionIndex) {
  for (const Sample& sample : Samples(path_)) {
    SCOPED_TRACE(sample.name);
    for (const SstFilter& filter : sample.file.filters) {
      FlipEveryBitOf(sample, filter.handle);
      for (const auto& partition : Walked(sample.bytes).Parts(filter)) {
        FlipEveryBit(sample, partition.handle.offset,
                     partition.handle.offset + 1);
        const uint64_t end = partition.handle.offset + partition.handle.size;
        FlipEveryBit(sample, end - 1, end + kBlockTrailerSize);
      }
    }
    // The properties lie between the filters and the metaindex in RocksDB's
    // tables; LevelDB's have none there. Their names share a prefix.
    const uint64_t end = sample.file.metaindex.offset;
    const std::string number = "external_sst_file.global_seqno";
    const uint64_t number_at = sample.bytes.rfind(number, end) + number.size();
    const uint64_t properties = sample.bytes.rfind("block.based.table", end);
    if (properties != std::string::npos) {
      ASSERT_LT(properties, number_at);
      ASSERT_LT(number_at + 8, end);
      FlipEveryBit(sample, properties, number_at);
      // The bytes between them are those that RocksDB changes in ingested
      // files.
      FlipEveryBit(sample, number_at + 8, end);
    } else {
      EXPECT_EQ(sample.name, "LevelDB");
    }
  }
}

TEST_F(DamagedTables, TruncatedAtEveryLength) {
  for (const Sample& sample : Samples(path_)) {
    SCOPED_TRACE(sample.name);
    for (size_t size = 0; size < sample.bytes.size(); ++size) {
      SstFile file;
      const std::string error =
          WalkAndRead(sample.bytes.substr(0, size), &file);
      ASSERT_NE(error, "") << size;
      if (size % 97 == 0 || size + 100 > sample.bytes.size()) {
        ExpectUseful(error);
      }
    }
  }
}

}  // namespace
}  // namespace deltabloom::test
