// The options of RocksDB with which no key transform works.
#pragma once

#include <string>

#include "rocksdb/options.h"

namespace deltabloom::internal {

// Returns what conflicts with a key transform, and what to do; empty if nothing
// does. Where RocksDB itself hashes the bytes of keys, it does not find keys
// that are equal but differ in bytes, whatever filters do.
std::string TransformConflict(const rocksdb::ColumnFamilyOptions& family);

}  // namespace deltabloom::internal
