// Table files written by LevelDB and RocksDB themselves, and what those say
// about them. A file that cannot be written ends the test program.
#ifndef DELTABLOOM_TESTS_SST_REAL_TABLES_H_
#define DELTABLOOM_TESTS_SST_REAL_TABLES_H_

#include <leveldb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/version.h>

#include <filesystem>
#include <memory>
#include <string>

namespace deltabloom::test {

// A directory that goes away with its content.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string File(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// "key000000".. in order; values are compressible.
std::string TableKey(uint64_t i);

// What this RocksDB writes.
inline constexpr int kRocksDB = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR;
inline constexpr int kFirstFormatVersion = kRocksDB >= 1001 ? 2 : 0;
inline constexpr int kLastFormatVersion = kRocksDB >= 1004  ? 7
                                          : kRocksDB >= 806 ? 6
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

  rocksdb::Options Options() const;
  void Write(const std::string& path) const;
};

// What RocksDB itself reads from the file.
rocksdb::TableProperties PropertiesOf(const std::string& path);

struct LevelTable {
  const leveldb::FilterPolicy* policy = nullptr;
  bool snappy = false;
  uint64_t keys = 2000;

  void Write(const std::string& path) const;
};

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_SST_REAL_TABLES_H_
