// Table files written by LevelDB and RocksDB themselves.
#pragma once

#include <gtest/gtest.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <memory>
#include <string>

namespace deltabloom::test {

// "key000000".. in order; values are compressible.
inline std::string TableKey(uint64_t i) {
  const std::string digits = std::to_string(i);
  return "key" + std::string(6 - digits.size(), '0') + digits;
}

inline std::string TableValue(uint64_t i) {
  return std::string(20, static_cast<char>('a' + i % 26));
}

// The version of RocksDB, and the format versions that it writes.
inline constexpr int kRocksDB = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR;
inline constexpr int kFirstFormatVersion = kRocksDB >= 1001 ? 2 : 0;
inline constexpr int kLastFormatVersion = kRocksDB >= 1112   ? 8
                                          : kRocksDB >= 1004 ? 7
                                          : kRocksDB >= 806  ? 6
                                                             : 5;

struct RocksTable {
  int format_version = 5;
  rocksdb::ChecksumType checksum = rocksdb::kXXH3;
  rocksdb::CompressionType compression = rocksdb::kNoCompression;
  bool partitioned = false;
  uint64_t metadata_block_size = 512;
  // Partitions end where a filter is full, not where those of the index do.
  // Without effect before RocksDB 9.7, which may not know of it.
  bool decoupled = false;
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  uint64_t keys = 2000;

  rocksdb::Options Options() const {
    rocksdb::BlockBasedTableOptions table;
    table.format_version = static_cast<uint32_t>(format_version);
    table.checksum = checksum;
    table.filter_policy = policy;
    table.block_size = 512;
    table.optimize_filters_for_memory = false;  // the default since 9.2 is true
    if (partitioned) {
      table.partition_filters = true;
      table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
      table.metadata_block_size = metadata_block_size;
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 907
      table.decouple_partitioned_filters = decoupled;
#endif
    }
    rocksdb::Options options;
    options.db_host_id = "";  // else the tables name the machine
    options.compression = compression;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
  }

  void Write(const std::string& path) const {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), Options());
    ASSERT_TRUE(writer.Open(path).ok());
    for (uint64_t i = 0; i < keys; ++i) {
      ASSERT_TRUE(writer.Put(TableKey(i), TableValue(i)).ok());
    }
    ASSERT_TRUE(writer.Finish().ok());
  }
};

struct LevelTable {
  const leveldb::FilterPolicy* policy = nullptr;
  bool snappy = false;
  uint64_t keys = 2000;
  std::string prefix;  // of every key

  void Write(const std::string& path) const {
    leveldb::Options options;
    options.filter_policy = policy;
    options.compression =
        snappy ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    leveldb::WritableFile* file = nullptr;
    ASSERT_TRUE(leveldb::Env::Default()->NewWritableFile(path, &file).ok());
    const std::unique_ptr<leveldb::WritableFile> owner(file);
    leveldb::TableBuilder builder(options, file);
    for (uint64_t i = 0; i < keys; ++i) {
      builder.Add(prefix + TableKey(i), TableValue(i));
    }
    ASSERT_TRUE(builder.Finish().ok());
    ASSERT_TRUE(file->Close().ok());
  }
};

// LevelDB's Bloom filters under another name.
class NamedPolicy : public leveldb::FilterPolicy {
 public:
  explicit NamedPolicy(std::string name) : name_(std::move(name)) {}

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
  const std::string name_;
  const std::unique_ptr<const leveldb::FilterPolicy> bloom_{
      leveldb::NewBloomFilterPolicy(20)};
};

// Returns the properties that RocksDB itself reads from the file.
inline rocksdb::TableProperties PropertiesOf(const std::string& path) {
  rocksdb::SstFileReader reader{rocksdb::Options()};
  EXPECT_TRUE(reader.Open(path).ok()) << path;
  return *reader.GetTableProperties();
}

}  // namespace deltabloom::test
