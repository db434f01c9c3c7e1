// Databases with range parts, beside a std::map that knows what is right.
#ifndef DELTABLOOM_TESTS_ROCKSDB_RANGE_DB_H_
#define DELTABLOOM_TESTS_ROCKSDB_RANGE_DB_H_

#include <map>
#include <memory>
#include <string>

#include "deltabloom/rocksdb_statistics.h"
#include "rocksdb/comparator.h"
#include "rocksdb/slice_transform.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {

using Model = std::map<std::string, std::string>;

// Eight bytes in the order of numbers.
inline std::string NumberKey(uint64_t number) {
  std::string key(8, '\0');
  for (size_t i = 8; i-- > 0; number >>= 8) key[i] = static_cast<char>(number);
  return key;
}

inline const rocksdb::Comparator* TimestampComparator() {
  const rocksdb::Comparator* comparator = nullptr;
  EXPECT_ROCKSDB_OK(rocksdb::Comparator::CreateFromString(
      rocksdb::ConfigOptions(), "leveldb.BytewiseComparator.u64ts",
      &comparator));
  return comparator;
}

// With ranges, by an OPTIONS file's words.
inline rocksdb::Options RangeOptions(const std::string& policy,
                                     bool partitioned = false) {
  DbConfig config;
  config.policy = PolicyFromString(policy);
  config.partitioned = partitioned;
  rocksdb::Options options = MakeOptions(config);
  EXPECT_ROCKSDB_OK(rocksdb::SliceTransform::CreateFromString(
      rocksdb::ConfigOptions(), "deltabloom.Range", &options.prefix_extractor));
  EXPECT_NE(options.prefix_extractor, nullptr);
  return options;
}

inline RocksDBFilterRow CountedBy(const rocksdb::Options& options) {
  RocksDBFilterStatistics statistics;
  EXPECT_TRUE(GetRocksDBFilterStatistics(*PolicyIn(options), &statistics));
  return statistics.Total();
}

// A seek as a scan makes it.
class Scan {
 public:
  Scan(rocksdb::DB* db, const std::string& upper,
       rocksdb::ColumnFamilyHandle* family = nullptr)
      : upper_(upper), bound_(upper_) {
    options_.auto_prefix_mode = true;
    options_.iterate_upper_bound = &bound_;
    at_.reset(db->NewIterator(
        options_, family == nullptr ? db->DefaultColumnFamily() : family));
  }

  rocksdb::Iterator* operator->() { return at_.get(); }

  // The first key from `lower` on, or "none".
  std::string First(const std::string& lower) {
    at_->Seek(lower);
    if (!at_->status().ok()) return at_->status().ToString();
    return at_->Valid() ? at_->key().ToString() : "none";
  }

  // Allowed between seeks.
  void MoveUpper(const std::string& upper) {
    upper_ = upper;
    bound_ = upper_;
  }

 private:
  rocksdb::ReadOptions options_;
  std::string upper_;
  rocksdb::Slice bound_;
  std::unique_ptr<rocksdb::Iterator> at_;
};

}  // namespace deltabloom::testing

#endif  // DELTABLOOM_TESTS_ROCKSDB_RANGE_DB_H_
