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
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(11, 10, 0)
#error \
    "This Deltabloom knows RocksDB up to 11.9: compare FilterBitsBuilder in \
table/block_based/filter_policy_internal.h with policy/private_abi.h, then \
raise this limit"
#endif
