// A fixture that calls an extractor as RocksDB does for a seek.
#ifndef DELTABLOOM_TESTS_ROCKSDB_SEEK_CALLS_H_
#define DELTABLOOM_TESTS_ROCKSDB_SEEK_CALLS_H_

#include <gtest/gtest.h>

#include <string>

#include "engines/rocksdb/range/range_extractor.h"

namespace deltabloom::internal {

class SeekCalls : public ::testing::Test {
 protected:
  SeekCalls() { extractor_.Trust(); }

  // As RocksDB calls it for a seek, before it asks the filter for the result.
  rocksdb::Slice Seek(const RangeExtractor& extractor) {
    extractor.InDomain(lower_);
    extractor.InDomain(lower_);
    const rocksdb::Slice prefix = extractor.Transform(lower_);
    extractor.InDomain(upper_);
    extractor.Transform(upper_);
    return prefix;
  }
  rocksdb::Slice Seek() { return Seek(extractor_); }

  static bool IsRange(const rocksdb::Slice& prefix) {
    Bounds bounds;
    return TakeBounds(prefix, &bounds);
  }

  RangeExtractor extractor_;
  std::string lower_ = "b";
  std::string upper_ = "d";
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TESTS_ROCKSDB_SEEK_CALLS_H_
