/* Defines the functions of deltabloom/load.h. RocksDB's types of C begin with
 * the C++ object (options) or its pointer. */
#define _GNU_SOURCE

#include "deltabloom/load.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engines/rocksdb/plugin/loader.h"

static const struct deltabloom_module* load_from(const char* folder,
                                                 char** error) {
  const struct deltabloom_module* module = NULL;
  char problem[DELTABLOOM_PROBLEM_SIZE];
  if (deltabloom_load_module(folder, &module, problem) != DELTABLOOM_LOADED &&
      error != NULL) {
    *error = strdup(problem);
  }
  return module;
}

/* Calls one function of the module, with an error that the module can set. */
#define CALL(result, call)                                                 \
  do {                                                                     \
    const struct deltabloom_module* const module = load_from(NULL, error); \
    if (module == NULL) return 0;                                          \
    char* line = NULL;                                                     \
    result = module->call;                                                 \
    if (error != NULL) {                                                   \
      if (line != NULL) *error = line;                                     \
    } else {                                                               \
      free(line);                                                          \
    }                                                                      \
  } while (0)

int deltabloom_load(const char* folder, char** error) {
  return load_from(folder, error) != NULL;
}

int deltabloom_load_set_filters(struct rocksdb_options_t* options,
                                const char* text, char** error) {
  int done;
  CALL(done, set_filters(options, text, &line));
  return done;
}

char* deltabloom_load_filters_of_options(
    const struct rocksdb_options_t* options, char** error) {
  char* text;
  CALL(text, filters_of_options(options, &line));
  return text;
}

char* deltabloom_load_filters_of_database(
    struct rocksdb_t* db, struct rocksdb_column_family_handle_t* family,
    char** error) {
  char* text;
  CALL(text,
       filters_of_database(db == NULL ? NULL : *(void**)db,
                           family == NULL ? NULL : *(void**)family, &line));
  return text;
}

char* deltabloom_load_check(const char* text, char** error) {
  char* full;
  CALL(full, check(text, &line));
  return full;
}

char* deltabloom_load_statistics(const char* format, char** error) {
  char* text;
  CALL(text, statistics(format, &line));
  return text;
}
