/* What a module of Deltabloom offers: the policy, range filters and statistics
 * for the RocksDB of one version and one ABI of strings, in a shared object
 * whose undefined symbols of RocksDB are found in the program or library that
 * has it. loader.h finds and opens it. */
#pragma once

#include "engines/rocksdb/plugin/ranges_module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of the struct. */
#define DELTABLOOM_MODULE_INTERFACE 2

/* A function that gets an `error` sets *error to one line, to be freed by
 * free(), and returns null or 0 if it fails. `error` must not be null. Nothing
 * throws. */
struct deltabloom_module {
  int interface;
  /* The version of RocksDB's headers, as in "7.8.3". */
  const char* built_for;
  /* Registers policy and range filters with RocksDB, as RegisterRocksDB() of
   * deltabloom/rocksdb.h. Returns 0 if the RocksDB has another version. */
  int (*register_with_rocksdb)(char** error);
  /* From then on errors in the text of a policy are printed, as most programs
   * drop them, and the file of DELTABLOOM_STATISTICS is written. Further calls
   * do nothing. */
  void (*serve_environment)(void);
  /* Returns a policy for the text that an option filter_policy has
   * ("deltabloom:10"), as a pointer to a shared_ptr<const FilterPolicy> that
   * the caller owns. */
  void* (*new_policy)(const char* text, char** error);
  /* Sets the policy in the table factory of a rocksdb::Options*, whose other
   * options stay as they are. Returns 1. */
  int (*set_filters)(void* options, const char* text, char** error);
  /* Returns the text of the policy that a rocksdb::Options*, or a column family
   * of a rocksdb::DB* (the default one if `family` is null), has: to be freed.
   * It is an error if it has none, or one that is not Deltabloom's. */
  char* (*filters_of_options)(const void* options, char** error);
  char* (*filters_of_database)(void* db, void* family, char** error);
  /* Returns what the text of a filter policy or of a collector of range filters
   * means, with all its options: to be freed. */
  char* (*check)(const char* text, char** error);
  /* As deltabloom_rocksdb_statistics() of deltabloom/c.h. */
  char* (*statistics)(const char* format, char** error);
  const struct deltabloom_ranges_module* ranges;
  /* Deletes a FilterPolicy* of RocksDB's own, and returns one of Deltabloom
   * with the bits per key that it has in the last level. If it fails, `policy`
   * is still there. */
  void* (*replace_policy)(void* policy, char** error);
  /* Returns 1 if a policy of Deltabloom has built or read a filter. Also after
   * static objects were destroyed. */
  int (*was_used)(void);
};

/* The only symbol that the loader takes from a module. */
#define DELTABLOOM_MODULE_SYMBOL "deltabloom_rocksdb_module"

#ifdef __cplusplus
}
#endif
