// The version of RocksDB's headers, for what differs between versions.
#pragma once

#include "rocksdb/version.h"

#define DELTABLOOM_ROCKSDB_VERSION(major, minor, patch) \
  ((major)*1000000 + (minor)*1000 + (patch))
#define DELTABLOOM_ROCKSDB_HEADERS \
  DELTABLOOM_ROCKSDB_VERSION(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH)

#if DELTABLOOM_ROCKSDB_HEADERS < DELTABLOOM_ROCKSDB_VERSION(7, 0, 3)
#error "Deltabloom needs RocksDB 7.0.3 or later"
#endif
// True if this RocksDB's builders and readers of filters were not compared
// with the declarations in policy/private_abi.h.
#define DELTABLOOM_ROCKSDB_IS_NEWER \
  (DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(11, 13, 0))
// Also true: no compiler compares them, as it does in RocksDB's own build.
#if DELTABLOOM_ROCKSDB_IS_NEWER && !defined(DELTABLOOM_IN_ROCKSDB)
#define DELTABLOOM_ROCKSDB_IS_UNTESTED 1
#else
#define DELTABLOOM_ROCKSDB_IS_UNTESTED 0
#endif
#if DELTABLOOM_ROCKSDB_IS_UNTESTED && !defined(DELTABLOOM_ROCKSDB_UNTESTED)
#error \
    "This Deltabloom knows RocksDB up to 11.12. Take one that knows this version, \
or build for it untested with the CMake option DELTABLOOM_ROCKSDB_UNTESTED=ON: \
see docs/compatibility.md"
#endif
