/* Deltabloom for C. The functions up to "RocksDB" are in libdeltabloom; the
 * others are in libdeltabloom_rocksdb, which needs no other library of it.
 *
 * Conventions, those of RocksDB's c.h:
 * - Strings passed in end in a zero byte. Keys and filters are any bytes, with
 *   their length; a key of length 0 may be null.
 * - On error a function that returns a pointer or a status returns null (with
 *   *size = 0) or 0, and *errptr, which is null before the call, receives one
 *   line that the caller frees. On success it stays null. errptr may be null.
 * - The caller frees memory with free(), or with deltabloom_free(), which calls
 *   it. *_destroy() accepts null.
 * - A null object or string, where it is not said to be legal, and a lack of
 *   memory are errors. A null filter may match every key.
 * - No exception leaves these functions. Objects are for one thread at a time,
 *   except filters, which any number of threads may query.
 */
#ifndef DELTABLOOM_C_H_
#define DELTABLOOM_C_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DELTABLOOM_C_EXPORT __attribute__((visibility("default")))
#else
#define DELTABLOOM_C_EXPORT
#endif

typedef struct deltabloom_options_t deltabloom_options_t;
typedef struct deltabloom_builder_t deltabloom_builder_t;
typedef struct deltabloom_filter_t deltabloom_filter_t;
typedef struct deltabloom_range_builder_t deltabloom_range_builder_t;
typedef struct deltabloom_range_filter_t deltabloom_range_filter_t;

/* Returns the version, as in "0.1.0". The string is static. */
DELTABLOOM_C_EXPORT const char* deltabloom_version(void);

/* Frees memory that a function here returned. */
DELTABLOOM_C_EXPORT void deltabloom_free(void* memory);

/* --- Options of a filter: FilterOptions of deltabloom/filter.h --- */

DELTABLOOM_C_EXPORT deltabloom_options_t* deltabloom_options_create(void);
DELTABLOOM_C_EXPORT void deltabloom_options_destroy(deltabloom_options_t*);
/* Sets the bits of filter per key: 0 to 1000; default 10. They are checked when
 * a builder is created. */
DELTABLOOM_C_EXPORT void deltabloom_options_set_bits_per_key(
    deltabloom_options_t*, double bits_per_key);
/* Sets the layout: "classic" (default), "local" or "compact". */
DELTABLOOM_C_EXPORT void deltabloom_options_set_layout(deltabloom_options_t*,
                                                       const char* layout,
                                                       char** errptr);
/* Sets the hash: "murmurhash2" (default), or "leveldb" for classic filters of
 * LevelDB. */
DELTABLOOM_C_EXPORT void deltabloom_options_set_hash(deltabloom_options_t*,
                                                     const char* hash,
                                                     char** errptr);
/* Sets the limit of the temporary memory for building a filter, in bytes; 0
 * (default): no limit. */
DELTABLOOM_C_EXPORT void deltabloom_options_set_max_build_bytes(
    deltabloom_options_t*, uint64_t bytes);

/* --- Building: FilterBuilder of deltabloom/filter.h --- */

/* `options` may be null for the defaults, and is not needed afterwards. */
DELTABLOOM_C_EXPORT deltabloom_builder_t* deltabloom_builder_create(
    const deltabloom_options_t* options, char** errptr);
DELTABLOOM_C_EXPORT void deltabloom_builder_destroy(deltabloom_builder_t*);
/* Adds a key. After an error for lack of memory the builder makes no filter. */
DELTABLOOM_C_EXPORT void deltabloom_builder_add(deltabloom_builder_t*,
                                                const char* key, size_t length,
                                                char** errptr);
/* Returns the number of keys added since the builder was created or emptied. */
DELTABLOOM_C_EXPORT uint64_t
deltabloom_builder_keys_added(const deltabloom_builder_t*);
/* Returns the size in bytes of the filter that finishing would return now. */
DELTABLOOM_C_EXPORT uint64_t
deltabloom_builder_filter_size(const deltabloom_builder_t*);
/* Returns the filter's raw bytes, which the caller frees, and their number. The
 * builder is then empty and can be used again. */
DELTABLOOM_C_EXPORT char* deltabloom_builder_finish(deltabloom_builder_t*,
                                                    size_t* size,
                                                    char** errptr);

/* --- Lookups: Filter of deltabloom/filter.h --- */

/* Returns a view of raw filter bytes, which must outlive it. Bytes that are no
 * filter answer "may match". `hash` is the one that the filter was built with,
 * as above; null for "murmurhash2". */
DELTABLOOM_C_EXPORT deltabloom_filter_t* deltabloom_filter_create(
    const char* bytes, size_t size, const char* hash, char** errptr);
DELTABLOOM_C_EXPORT void deltabloom_filter_destroy(deltabloom_filter_t*);
/* Returns 0 only if the key was not added; else 1. */
DELTABLOOM_C_EXPORT unsigned char deltabloom_filter_may_match(
    const deltabloom_filter_t*, const char* key, size_t length);
/* Sets may_match[i] to the answer for keys[i], for every i below n. */
DELTABLOOM_C_EXPORT void deltabloom_filter_may_match_many(
    const deltabloom_filter_t*, size_t n, const char* const* keys,
    const size_t* lengths, unsigned char* may_match);
/* Returns a line that describes raw filter bytes, which the caller frees. */
DELTABLOOM_C_EXPORT char* deltabloom_filter_describe(const char* bytes,
                                                     size_t size);

/* --- Ranges: deltabloom/range_filter.h --- */

/* Returns a builder of range filters; RangeFilterOptions has both arguments.
 * `prefixes` may be null, which is "auto". */
DELTABLOOM_C_EXPORT deltabloom_range_builder_t* deltabloom_range_builder_create(
    double bits_per_key, const char* prefixes, char** errptr);
DELTABLOOM_C_EXPORT void deltabloom_range_builder_destroy(
    deltabloom_range_builder_t*);
/* Adds a key, which must not be smaller than the one before; otherwise
 * finishing fails. */
DELTABLOOM_C_EXPORT void deltabloom_range_builder_add(
    deltabloom_range_builder_t*, const char* key, size_t length, char** errptr);
/* Does what deltabloom_builder_finish does. It is an error if there is no
 * filter, for one of the reasons of RangeFilterBuilder::Finish. */
DELTABLOOM_C_EXPORT char* deltabloom_range_builder_finish(
    deltabloom_range_builder_t*, size_t* size, char** errptr);

/* Returns a view of the bytes of a range filter, which must outlive it. */
DELTABLOOM_C_EXPORT deltabloom_range_filter_t* deltabloom_range_filter_create(
    const char* bytes, size_t size, char** errptr);
DELTABLOOM_C_EXPORT void deltabloom_range_filter_destroy(
    deltabloom_range_filter_t*);
/* Returns 0 only if no key with lower <= key < upper was added; else 1. A null
 * upper is the end of all keys. */
DELTABLOOM_C_EXPORT unsigned char deltabloom_range_filter_may_match(
    const deltabloom_range_filter_t*, const char* lower, size_t lower_length,
    const char* upper, size_t upper_length);

/* --- Sizing: deltabloom/sizing.h --- */

/* These two are for filters of the layout that `options` has; null means the
 * defaults. */

/* Returns the bits per key with which filters of `keys` keys have this
 * false-positive rate: 9.9 for 0.01 with layout local, 6.8 with compact;
 * infinity where 1000 bits per key do not reach it, 0 for rates from 1 on. */
DELTABLOOM_C_EXPORT double deltabloom_options_bits_per_key_for_rate(
    const deltabloom_options_t* options, double rate, uint64_t keys);
/* Returns the expected false-positive rate of filters of `keys` keys with the
 * bits per key that `options` has; NaN where these are not valid. */
DELTABLOOM_C_EXPORT double deltabloom_options_false_positive_rate(
    const deltabloom_options_t* options, uint64_t keys);

/* Sets *bits and *probes to the smallest size at which `keys` keys have a rate
 * of at most `rate` in a Bloom filter of your own, whose probes are
 * independent; either may be null. Filters of layouts classic and local have
 * higher rates in that size. */
DELTABLOOM_C_EXPORT void deltabloom_size_for_rate(uint64_t keys, double rate,
                                                  uint64_t* bits,
                                                  uint32_t* probes);

/* --- RocksDB --- */

/* Declared in RocksDB's c.h. */
struct rocksdb_filterpolicy_t;

/* Returns a policy for rocksdb_block_based_options_set_filter_policy(), which
 * takes ownership; otherwise call rocksdb_filterpolicy_destroy(). Check the
 * result: RocksDB silently treats null as "no filter". If errptr is null, the
 * line is printed to standard error, once. `options` is what
 * FilterPolicy::CreateFromString takes ("deltabloom:10:local",
 * "bits_per_key=10;layout=local"), null or "" for the defaults. Also registers
 * the policy, as below. */
DELTABLOOM_C_EXPORT struct rocksdb_filterpolicy_t*
deltabloom_rocksdb_filterpolicy(const char* options, char** errptr);

struct rocksdb_options_t;

/* Sets the policy that `filters` describes, as above, in the block-based table
 * factory of `options`, whose other settings stay. It is for bindings that give
 * access to their rocksdb_options_t only. Call it after
 * rocksdb_options_set_block_based_table_factory(), which replaces the policy.
 * Returns 1, or 0 with `options` as before. Also registers the policy, as
 * below.
 */
DELTABLOOM_C_EXPORT unsigned char deltabloom_rocksdb_add_filters(
    struct rocksdb_options_t* options, const char* filters, char** errptr);

/* Does what RegisterRocksDB() does in C++. Call it before a database is opened.
 * Returns 1, or 0 on error. */
DELTABLOOM_C_EXPORT unsigned char deltabloom_rocksdb_register(char** errptr);

/* Returns the statistics of all policies of this process
 * (deltabloom/rocksdb_statistics.h) in the format "json", "prometheus" or
 * "text". The caller frees the text. Thread-safe. */
DELTABLOOM_C_EXPORT char* deltabloom_rocksdb_statistics(const char* format,
                                                        char** errptr);

struct rocksdb_t;
struct rocksdb_column_family_handle_t;

/* Return the text, with all options, of the filter policy of the options, or of
 * a column family of an open database (the default one if `family` is null). It
 * is an error if there is no policy, or one that is not Deltabloom's: RocksDB
 * itself says nothing. The caller frees the text. */
DELTABLOOM_C_EXPORT char* deltabloom_rocksdb_filters_of_options(
    const struct rocksdb_options_t* options, char** errptr);
DELTABLOOM_C_EXPORT char* deltabloom_rocksdb_filters_of_database(
    struct rocksdb_t* db, struct rocksdb_column_family_handle_t* family,
    char** errptr);

/* Does what CheckRocksDBText() does in C++: parses the text of a filter policy
 * or of a collector of range filters, and returns it with all options. The
 * caller frees it. */
DELTABLOOM_C_EXPORT char* deltabloom_rocksdb_check(const char* text,
                                                   char** errptr);

/* --- RocksDB: range scans, as in deltabloom/rocksdb_ranges.h --- */

typedef struct deltabloom_rocksdb_ranges_t deltabloom_rocksdb_ranges_t;
typedef struct deltabloom_rocksdb_iterator_t deltabloom_rocksdb_iterator_t;
struct rocksdb_readoptions_t;

/* Returns the range filters of one column family, which any number of threads
 * may use. `options` is RocksDBRangeOptions as text
 * ("bits_per_key=8;prefixes='/'"), null or "" for the defaults. Also
 * registers the policy, as above. */
DELTABLOOM_C_EXPORT deltabloom_rocksdb_ranges_t*
deltabloom_rocksdb_ranges_create(const char* options, char** errptr);
/* Destroys the object. Databases and iterators keep what they need of it. */
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_ranges_destroy(
    deltabloom_rocksdb_ranges_t*);

/* Adds the collector to the options of the column family, before it is opened.
 * Returns 1, or 0 with `options` as before. */
DELTABLOOM_C_EXPORT unsigned char deltabloom_rocksdb_ranges_add_to(
    deltabloom_rocksdb_ranges_t*, struct rocksdb_options_t* options,
    char** errptr);

/* Returns an iterator over the keys k with lower <= k < upper; if `upper` is
 * null, over all from `lower` on. The bounds are copied; `options` has its
 * usual effect, and what it points to must live as long as with RocksDB's own
 * iterators. `family` may be null for the default one; its comparator is that
 * of the options that the object was added to. For a transaction database pass
 * what rocksdb_transactiondb_get_base_db() returns. */
DELTABLOOM_C_EXPORT deltabloom_rocksdb_iterator_t*
deltabloom_rocksdb_ranges_create_iterator(
    deltabloom_rocksdb_ranges_t*, struct rocksdb_t* db,
    const struct rocksdb_readoptions_t* options,
    struct rocksdb_column_family_handle_t* family, const char* lower,
    size_t lower_length, const char* upper, size_t upper_length, char** errptr);
/* Returns such an iterator over all keys that begin with `prefix`. */
DELTABLOOM_C_EXPORT deltabloom_rocksdb_iterator_t*
deltabloom_rocksdb_ranges_create_prefix_iterator(
    deltabloom_rocksdb_ranges_t*, struct rocksdb_t* db,
    const struct rocksdb_readoptions_t* options,
    struct rocksdb_column_family_handle_t* family, const char* prefix,
    size_t prefix_length, char** errptr);

/* These do what rocksdb_iter_*() of the same names do. No argument may be
 * null. */
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_iterator_destroy(
    deltabloom_rocksdb_iterator_t*);
DELTABLOOM_C_EXPORT unsigned char deltabloom_rocksdb_iterator_valid(
    const deltabloom_rocksdb_iterator_t*);
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_iterator_seek_to_first(
    deltabloom_rocksdb_iterator_t*);
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_iterator_seek_to_last(
    deltabloom_rocksdb_iterator_t*);
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_iterator_seek(
    deltabloom_rocksdb_iterator_t*, const char* key, size_t length);
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_iterator_seek_for_prev(
    deltabloom_rocksdb_iterator_t*, const char* key, size_t length);
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_iterator_next(
    deltabloom_rocksdb_iterator_t*);
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_iterator_prev(
    deltabloom_rocksdb_iterator_t*);
DELTABLOOM_C_EXPORT const char* deltabloom_rocksdb_iterator_key(
    const deltabloom_rocksdb_iterator_t*, size_t* length);
DELTABLOOM_C_EXPORT const char* deltabloom_rocksdb_iterator_value(
    const deltabloom_rocksdb_iterator_t*, size_t* length);
DELTABLOOM_C_EXPORT void deltabloom_rocksdb_iterator_get_error(
    const deltabloom_rocksdb_iterator_t*, char** errptr);

/* Returns RocksDBRangeStatistics in the format "json", "prometheus" or "text".
 * The caller frees the text. */
DELTABLOOM_C_EXPORT char* deltabloom_rocksdb_ranges_statistics(
    const deltabloom_rocksdb_ranges_t*, const char* format, char** errptr);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DELTABLOOM_C_H_ */
