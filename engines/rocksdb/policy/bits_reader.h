// Sealed filter bytes as RocksDB reads them.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_

#include <memory>

#include "engines/rocksdb/policy/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "table/framing.h"

namespace deltabloom::internal {

struct ReaderSettings {
  // Reads filters that are not Deltabloom's; null: none does.
  const rocksdb::FilterPolicy* builtin = nullptr;
  // Only filters of this transform are queried; null: those of none.
  const RegisteredTransform* transform = nullptr;
  std::shared_ptr<PolicyStatistics> statistics;  // null: nothing is counted
  bool range = false;  // whether range parts are queried
};

// A filter that is ignored, as it was built for another key transform.
struct TransformMismatch {
  bool found = false;
  bool builtin = false;  // it is not Deltabloom's; else:
  HashedKeys keys;
};

// Returns a reader for any bytes. Bytes without Deltabloom's magic go to the
// reader of `builtin`; without `builtin`, and with 5 bytes or less, they match
// every key: for those RocksDB's reader would answer "absent" to every key.
// With a key transform they match every key, as do filters of another transform
// than the policy's; *mismatch, which may be null, then says so. The bytes must
// outlive the reader. Returns null when memory has run out, which RocksDB takes
// for "may match".
rocksdb::FilterBitsReader* NewSealedBitsReader(
    const rocksdb::Slice& filter, const ReaderSettings& settings,
    TransformMismatch* mismatch = nullptr);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_
