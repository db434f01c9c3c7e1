// Sealed filter bytes as RocksDB reads them.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_BITS_READER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_BITS_READER_H_

#include <memory>

#include "engines/rocksdb/private_abi.h"
#include "engines/rocksdb/statistics.h"

namespace deltabloom::internal {

// A reader for any bytes. Those without Deltabloom's magic go to the reader of
// `builtin`; with no `builtin`, or with 5 bytes or less, they match every key:
// RocksDB's reader would answer "absent" to everything for so few. The bytes
// must outlive the reader. Null when memory has run out, which RocksDB takes
// for "may match". With `statistics` the reader counts there.
ROCKSDB_NAMESPACE::FilterBitsReader* NewSealedBitsReader(
    const ROCKSDB_NAMESPACE::Slice& filter,
    const ROCKSDB_NAMESPACE::FilterPolicy* builtin,
    std::shared_ptr<PolicyStatistics> statistics = nullptr);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_BITS_READER_H_
