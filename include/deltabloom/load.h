/* Deltabloom's filters in a RocksDB that a binding for another language brought
 * into the process, in a library of its own. The functions are in
 * libdeltabloom_rocksdb_plugin.so, which needs neither RocksDB nor a C++
 * library: it finds the RocksDB of the process, and opens the module that was
 * built for its version (docs/compatibility.md).
 *
 * A function that fails returns null or 0 and sets *error, unless `error` is
 * null, to one line that the caller frees with free(). RocksDB then keeps its
 * own filters. All functions are thread-safe. */
#ifndef DELTABLOOM_LOAD_H_
#define DELTABLOOM_LOAD_H_

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DELTABLOOM_LOAD_EXPORT __attribute__((visibility("default")))
#else
#define DELTABLOOM_LOAD_EXPORT
#endif

struct rocksdb_column_family_handle_t;
struct rocksdb_options_t;
struct rocksdb_t;

/* Loads the module, and registers policy and range filters with RocksDB, so
 * that option texts can name them. From then on errors in these texts are
 * printed to standard error, and the environment variable DELTABLOOM_STATISTICS
 * names a file for the statistics (docs/guide.md). Call it after RocksDB was
 * loaded; further calls do nothing. It looks for the module in `folder`, if it
 * is not null, in the folder that the environment variable DELTABLOOM_MODULES
 * names, in the folder "deltabloom" beside this library, in
 * /usr/local/lib/deltabloom and in /usr/lib/deltabloom. Returns 1. */
DELTABLOOM_LOAD_EXPORT int deltabloom_load(const char* folder, char** error);

/* The functions below load the module, too, from the folders above except
 * `folder`. */

/* Sets the filter policy that a text names ("deltabloom:10") in the table
 * factory of the options; its other options stay as they are. Setting another
 * table factory afterwards replaces the policy. Returns 1. */
DELTABLOOM_LOAD_EXPORT int deltabloom_load_set_filters(
    struct rocksdb_options_t* options, const char* text, char** error);

/* Return the text of the filter policy of the options, or of a column family of
 * an open database (the default one if `family` is null). The caller frees it.
 * It is an error if there is no policy, or one that is not Deltabloom's. */
DELTABLOOM_LOAD_EXPORT char* deltabloom_load_filters_of_options(
    const struct rocksdb_options_t* options, char** error);
DELTABLOOM_LOAD_EXPORT char* deltabloom_load_filters_of_database(
    struct rocksdb_t* db, struct rocksdb_column_family_handle_t* family,
    char** error);

/* Parses the text of a filter policy, or of a collector of range filters
 * ("deltabloom.range"). Returns it with all options; the caller frees it. */
DELTABLOOM_LOAD_EXPORT char* deltabloom_load_check(const char* text,
                                                   char** error);

/* Returns the statistics of all filters in this process in the format "json",
 * "prometheus" or "text". The caller frees them. */
DELTABLOOM_LOAD_EXPORT char* deltabloom_load_statistics(const char* format,
                                                        char** error);

#ifdef __cplusplus
}
#endif

#endif /* DELTABLOOM_LOAD_H_ */
