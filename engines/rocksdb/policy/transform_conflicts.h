// Options of RocksDB that do not go with a key transform.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_TRANSFORM_CONFLICTS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_TRANSFORM_CONFLICTS_H_

#include <string>

#include "rocksdb/options.h"

namespace deltabloom::internal {

// Where RocksDB itself hashes the bytes of keys, keys that are equal but differ
// in bytes are lost, whatever filters do. One line about the first such option,
// or nothing.
std::string TransformConflict(
    const ROCKSDB_NAMESPACE::ColumnFamilyOptions& family);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_TRANSFORM_CONFLICTS_H_
