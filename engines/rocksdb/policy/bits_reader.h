// Sealed filter bytes as RocksDB reads them.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_

#include <memory>
#include <string>

#include "engines/rocksdb/policy/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/range/learning.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "table/framing.h"

namespace deltabloom::internal {

struct ReaderSettings {
  // Reads filters that are not Deltabloom's; null: none does.
  const rocksdb::FilterPolicy* builtin = nullptr;
  // Only filters of this transform are queried; null: those of none.
  const RegisteredTransform* transform = nullptr;
  std::shared_ptr<PolicyStatistics> statistics;  // null: nothing is counted
  bool range = false;                 // whether range parts are queried
  bool learning = true;               // whether the ranges are sampled
  OpenedCuts* opened_cuts = nullptr;  // gets those of the filter; may be null
};

// Returns a reader for any bytes, which must outlive it. Bytes without
// Deltabloom's magic go to the reader of `builtin`. Without `builtin` or with 5
// bytes or less, for which RocksDB's reader answers "absent", they match every
// key. So do filters of another key transform than the policy's; *mismatch,
// which may be null, then gets what follows "the filter". Null when memory has
// run out, which RocksDB takes for "may match".
rocksdb::FilterBitsReader* NewSealedBitsReader(const rocksdb::Slice& filter,
                                               const ReaderSettings& settings,
                                               std::string* mismatch = nullptr);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_
