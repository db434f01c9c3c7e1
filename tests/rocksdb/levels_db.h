// Databases with allocation=levels, whose trees get four levels from a few
// hundred flushes.
#ifndef DELTABLOOM_TESTS_ROCKSDB_LEVELS_DB_H_
#define DELTABLOOM_TESTS_ROCKSDB_LEVELS_DB_H_

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/listener.h"
#include "tests/rocksdb/tree.h"

namespace deltabloom::testing {

inline RocksDBFilterOptions LevelsOptions(Layout layout = Layout::kCompact,
                                          double bits_per_key = 10) {
  RocksDBFilterOptions filters;
  filters.bits_per_key = bits_per_key;
  filters.layout = layout;
  filters.allocation = RocksDBAllocation::kLevels;
  return filters;
}

inline rocksdb::Options SmallTrees() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 32 << 10;
  options.max_bytes_for_level_base = 128 << 10;
  options.max_bytes_for_level_multiplier = 4;
  // For FIFO: keep everything.
  options.compaction_options_fifo.max_table_files_size = uint64_t{1} << 30;
  return options;
}

// Evenly spread over all keys, and in order.
inline std::string Scattered(uint64_t i) {
  char name[24];
  std::snprintf(name, sizeof(name), "%016llx",
                static_cast<unsigned long long>(i * 0x9e3779b97f4a7c15));
  return name;
}
inline std::string InOrder(uint64_t i) {
  char name[24];
  std::snprintf(name, sizeof(name), "%016llx",
                static_cast<unsigned long long>(i));
  return name;
}

inline uint64_t Property(rocksdb::DB* db, const std::string& name) {
  uint64_t value = 0;
  db->GetIntProperty("rocksdb." + name, &value);
  return value;
}

// Until nothing runs and nothing is about to. Universal compaction may call
// itself pending for good, so that is waited for a while only.
inline void WaitForCompactions(rocksdb::DB* db) {
  for (int idle = 0; idle < 20; usleep(500)) {
    if (Property(db, "num-running-compactions") +
            Property(db, "mem-table-flush-pending") +
            Property(db, "num-running-flushes") >
        0) {
      idle = 0;
    } else if (Property(db, "compaction-pending") == 0) {
      return;
    } else {
      ++idle;
    }
  }
}

class LevelsDb {
 public:
  LevelsDb() = default;

  void Open(rocksdb::Options options, const RocksDBFilterOptions& filters) {
    std::string error;
    ASSERT_TRUE(AddRocksDBFilters(filters, &options, &options, &error))
        << error;
    layout_ = filters.layout;
    options_ = options;
    Reopen(options);
  }
  void Reopen(const rocksdb::Options& options) {
    db_.reset();
    db_ = testing::Open(options, path_);
  }
  void Close() { db_.reset(); }

  // Now and then lets compactions catch up, as those of a database do that is
  // not overrun.
  void Put(const std::string& key) {
    ASSERT_ROCKSDB_OK(db_->Put(Unlogged(), key, "0123456789abcdef"));
    if (++written_ % 500 == 0) WaitForCompactions(db_.get());
  }
  void Delete(const std::string& key) {
    ASSERT_ROCKSDB_OK(db_->Delete(Unlogged(), key));
  }
  void Settle() {
    ASSERT_ROCKSDB_OK(db_->Flush({}));
    WaitForCompactions(db_.get());
  }

  MeasuredTree Measured() {
    return Measure(db_.get(), db_->DefaultColumnFamily(), layout_);
  }
  std::string Log() const { return ReadFile(path_ + "/LOG"); }

  rocksdb::DB* db() { return db_.get(); }
  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return dir_.Path(name); }
  const rocksdb::Options& options() const { return options_; }

 private:
  static rocksdb::WriteOptions Unlogged() {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    return write;
  }

  TempDir dir_;
  std::string path_ = dir_.Path("db");
  Layout layout_ = Layout::kCompact;
  rocksdb::Options options_;
  uint64_t written_ = 0;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace deltabloom::testing

#endif  // DELTABLOOM_TESTS_ROCKSDB_LEVELS_DB_H_
