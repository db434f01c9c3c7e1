// Sealed filter bytes as RocksDB reads them.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_

#include <memory>

#include "engines/rocksdb/policy/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "table/framing.h"

namespace deltabloom::internal {

// How a policy reads.
struct ReaderSettings {
  // Whose reader gets what is not Deltabloom's; null: nobody's.
  const ROCKSDB_NAMESPACE::FilterPolicy* builtin = nullptr;
  // That of the policy. Only filters of this one are asked; null: of none.
  const RegisteredTransform* transform = nullptr;
  std::shared_ptr<PolicyStatistics> statistics;  // null: nothing is counted
  bool range = false;  // whether range parts are asked
};

// A filter that is not asked, for it holds other keys than the policy's.
struct OtherKeys {
  bool found = false;
  bool builtin = false;  // RocksDB's own, or somebody else's; else:
  HashedKeys keys;
};

// A reader for any bytes. Those without Deltabloom's magic go to the reader of
// `builtin`; with no `builtin`, or with 5 bytes or less, they match every key:
// RocksDB's reader would answer "absent" to everything for so few. With a key
// transform they match every key, too, as do filters of another transform than
// the policy's; *other, which may be null, then says so. The bytes must outlive
// the reader. Null when memory has run out, which RocksDB takes for "may
// match".
ROCKSDB_NAMESPACE::FilterBitsReader* NewSealedBitsReader(
    const ROCKSDB_NAMESPACE::Slice& filter, const ReaderSettings& settings,
    OtherKeys* other = nullptr);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_READER_H_
