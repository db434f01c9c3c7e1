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

/* The end of the path that a module is opened by. */
#define DELTABLOOM_MODULE_FILE "/deltabloom-module.so"

/* Sets *module, which stays loaded, is registered with RocksDB and serves the
 * environment, or writes to `problem` one line: what is wrong and what to do.
 * Modules are searched in `folder`, if it is not null; in the folder that the
 * environment names as DELTABLOOM_MODULES; in "deltabloom" beside the file of
 * this code; in /usr/local/lib/deltabloom and /usr/lib/deltabloom. Thread-safe;
 * once it is loaded, all calls return the same module. */
enum deltabloom_load_result deltabloom_load_module(
    const char* folder, const struct deltabloom_module** module,
    char problem[DELTABLOOM_PROBLEM_SIZE]);

/* True if the function is in the RocksDB that the loaded module serves. */
int deltabloom_serves(const void* function);

/* Opens the module `name` of the same folders, but the first, for an engine
 * ("LevelDB") in the file `host`, which is empty for the program itself.
 * Returns null with the line. */
void* deltabloom_open_module(const char* engine, const char* host,
                             const char* name,
                             char problem[DELTABLOOM_PROBLEM_SIZE]);

/* Writes a line, with what all lines begin with. */
__attribute__((format(printf, 2, 3))) enum deltabloom_load_result
deltabloom_refuse(char problem[DELTABLOOM_PROBLEM_SIZE], const char* format,
                  ...);

#ifdef __cplusplus
}
#endif
