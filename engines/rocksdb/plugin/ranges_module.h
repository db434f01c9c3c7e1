/* Range filters in a module (module.h): RocksDBRanges of
 * deltabloom/rocksdb_ranges.h for bindings that have the addresses of RocksDB's
 * C++ objects. Errors are as in module.h. Thread-safe. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct deltabloom_ranges_module {
  /* Returns a RocksDBRanges with the options of a text
   * ("bits_per_key=8;prefixes='/'"), which the caller destroys. Databases and
   * iterators keep what they need of it. */
  void* (*create)(const char* options, char** error);
  void (*destroy)(void* ranges);
  /* Adds the collector to a rocksdb::Options*, or to a
   * rocksdb::ColumnFamilyOptions*, before the database is opened. Returns 1. */
  int (*add_to_options)(void* ranges, void* options, char** error);
  int (*add_to_family)(void* ranges, void* family_options, char** error);
  /* Returns a rocksdb::Iterator*, which the caller deletes, over the keys from
   * `lower` on and below `upper`, if it is not null. `db` is a rocksdb::DB*,
   * `options` a rocksdb::ReadOptions*, `family` a rocksdb::ColumnFamilyHandle*.
   */
  void* (*new_iterator)(void* ranges, void* db, const void* options,
                        void* family, const char* lower, size_t lower_size,
                        const char* upper, size_t upper_size, char** error);
  /* Does the same for the keys that begin with `prefix`. */
  void* (*new_prefix_iterator)(void* ranges, void* db, const void* options,
                               void* family, const char* prefix,
                               size_t prefix_size, char** error);
  /* Returns RocksDBRangeStatistics as "json", "prometheus" or "text", to be
   * freed. */
  char* (*statistics)(const void* ranges, const char* format, char** error);
};

#ifdef __cplusplus
}

namespace deltabloom::internal {
extern const deltabloom_ranges_module kRangesModule;
}  // namespace deltabloom::internal
#endif
