/* Loads the module for the RocksDB that this process runs with. In C and
 * without a C++ library, like find_rocksdb.h. */
#pragma once

#include "engines/rocksdb/plugin/module.h"

#ifdef __cplusplus
extern "C" {
#endif

enum deltabloom_load_result {
  DELTABLOOM_LOADED,
  /* No RocksDB is loaded. Later there may be one. */
  DELTABLOOM_NO_ROCKSDB,
  /* RocksDB goes on with its own filters. */
  DELTABLOOM_REFUSED
};

#define DELTABLOOM_PROBLEM_SIZE 8192

/* Sets *module, which stays loaded, is registered with RocksDB and serves the
 * environment, or writes to `problem` one line: what is wrong and what to do.
 * Modules are searched in `folder`, if it is not null; in the folder that the
 * environment names as DELTABLOOM_MODULES; in "deltabloom" beside the file of
 * this code; in /usr/local/lib/deltabloom and /usr/lib/deltabloom. Thread-safe;
 * once it is loaded, all calls return the same module. */
enum deltabloom_load_result deltabloom_load_module(
    const char* folder, const struct deltabloom_module** module,
    char problem[DELTABLOOM_PROBLEM_SIZE]);

#ifdef __cplusplus
}
#endif
