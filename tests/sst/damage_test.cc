// Real files, damaged: an error each time, never a crash and never bytes from
// outside of the file. Worth most under the address sanitizer.
#include <gtest/gtest.h>
#include <rocksdb/filter_policy.h>

#include <algorithm>

#include "table/sst/sst.h"
#include "tests/random.h"
#include "tests/sst/crafted.h"
#include "tests/sst/real_tables.h"
#include "tests/test_data.h"

namespace deltabloom {
namespace {

using internal::BlockHandle;
using internal::FilterScope;
using internal::SstFile;

constexpr uint64_t kTrailer = 5;

struct Sample {
  std::string name;
  std::string bytes;
  SstFile file;  // undamaged
};

// Each kind of footer, checksum and filter once; small, for the loops below.
std::vector<Sample> Samples() {
  const test::TemporaryDirectory directory;
  const std::string path = directory.File("table");
  std::vector<Sample> samples;
  const auto take = [&](const std::string& name) {
    Sample sample;
    sample.name = name;
    sample.bytes = test::ReadFile(path);
    EXPECT_EQ(internal::WalkSst(test::MemorySource(sample.bytes), &sample.file),
              "");
    samples.push_back(std::move(sample));
  };
  const std::unique_ptr<const leveldb::FilterPolicy> bloom(
      leveldb::NewBloomFilterPolicy(10));
  test::LevelTable level;
  level.policy = bloom.get();
  level.keys = 300;
  level.Write(path);
  take("LevelDB");

  test::RocksTable rocks;
  rocks.policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocks.keys = 300;
  const rocksdb::ChecksumType checksums[] = {
      rocksdb::kCRC32c,   rocksdb::kCRC32c,     rocksdb::kxxHash,
      rocksdb::kxxHash64, rocksdb::kNoChecksum, rocksdb::kXXH3,
      rocksdb::kxxHash,   rocksdb::kXXH3};
  for (rocks.format_version = test::kFirstFormatVersion;
       rocks.format_version <= test::kLastFormatVersion;
       ++rocks.format_version) {
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

// What a walk found, for comparison.
std::string Found(const std::string& bytes, const SstFile& file) {
  const test::MemorySource source(bytes);
  std::string text;
  for (const internal::SstFilter& filter : file.filters) {
    text += filter.policy + " " + std::to_string(filter.handle.offset) + "+" +
            std::to_string(filter.handle.size);
    for (const auto& partition : test::PartitionsOf(source, file, filter)) {
      text += " " + std::to_string(partition.handle.offset) + "+" +
              std::to_string(partition.handle.size);
    }
  }
  return text;
}

// Walks, and reads every filter found.
std::string WalkAndRead(const std::string& bytes, SstFile* file) {
  const test::MemorySource source(bytes);
  std::string error = internal::WalkSst(source, file);
  for (size_t i = 0; i < file->filters.size() && error.empty(); ++i) {
    const internal::SstFilter& filter = file->filters[i];
    std::string contents;
    error = internal::ReadBlock(source, *file, filter.handle, &contents);
    if (!error.empty() || filter.scope != FilterScope::kPartitioned) continue;
    error = internal::ForEachPartition(
        source, *file, filter, [&](std::string_view, const BlockHandle& part) {
          return internal::ReadBlock(source, *file, part, &contents);
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
  const bool guarded = sample.file.checksum != internal::ChecksumType::kNone;
  const uint64_t version_at = sample.bytes.size() - 12;
  std::string bytes = sample.bytes;
  for (uint64_t at = begin; at < end; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
      SstFile file;
      const std::string error = WalkAndRead(bytes, &file);
      // One legal format_version for another means no harm: they differ in
      // what this walk does not read.
      const bool other_version =
          sample.file.format_version > 0 && at == version_at && error.empty();
      if (other_version) {
        EXPECT_NE(file.format_version, sample.file.format_version);
        EXPECT_EQ(Found(bytes, file), Found(sample.bytes, sample.file));
      } else if (guarded || !error.empty()) {
        EXPECT_NE(error, "") << "byte " << at << " bit " << bit;
        ExpectUseful(error);
      }
      bytes[at] = sample.bytes[at];
    }
  }
}

void FlipEveryBitOf(const Sample& sample, const BlockHandle& block) {
  FlipEveryBit(sample, block.offset, block.offset + block.size + kTrailer);
}

TEST(DamagedTables, EveryBitOfFooterAndMetaindex) {
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(sample.name);
    FlipEveryBit(sample, sample.file.footer_offset, sample.bytes.size());
    FlipEveryBitOf(sample, sample.file.metaindex);
  }
}

TEST(DamagedTables, EveryBitOfFiltersAndPartitionIndex) {
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(sample.name);
    for (const internal::SstFilter& filter : sample.file.filters) {
      FlipEveryBitOf(sample, filter.handle);
      for (const auto& partition : test::PartitionsOf(
               test::MemorySource(sample.bytes), sample.file, filter)) {
        FlipEveryBit(sample, partition.handle.offset,
                     partition.handle.offset + 1);
        const uint64_t end = partition.handle.offset + partition.handle.size;
        FlipEveryBit(sample, end - 1, end + kTrailer);
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
      // Between them: what RocksDB itself changes in files it takes in.
      FlipEveryBit(sample, number_at + 8, end);
    } else {
      EXPECT_EQ(sample.name, "LevelDB");
    }
  }
}

TEST(DamagedTables, TruncatedAtEveryLength) {
  for (const Sample& sample : Samples()) {
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

// Many bytes at once, also where no checksum stops the walk early.
TEST(DamagedTables, RandomBytesEverywhere) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  test::Random random(seed);
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(sample.name);
    const uint64_t begin = sample.file.filters.at(0).handle.offset;
    for (int round = 0; round < 1500; ++round) {
      std::string bytes = sample.bytes;
      for (uint64_t changes = 1 + random.Below(4); changes > 0; --changes) {
        bytes[begin + random.Below(bytes.size() - begin)] =
            random.Key(1).front();
      }
      SstFile file;
      const std::string error = WalkAndRead(bytes, &file);
      if (!error.empty()) ExpectUseful(error);
    }
  }
}

}  // namespace
}  // namespace deltabloom
