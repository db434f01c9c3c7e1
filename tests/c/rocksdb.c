/* The policy in a database that is used through RocksDB's C interface. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <rocksdb/c.h>

#include "check.h"

enum { kKeys = 2000 };

static void CheckNoError(char* error) {
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
    exit(1);
  }
}

static void Write(rocksdb_t* db) {
  char* error = NULL;
  rocksdb_writeoptions_t* const write = rocksdb_writeoptions_create();
  for (int i = 0; i < kKeys; ++i) {
    char key[16];
    const int length = snprintf(key, sizeof(key), "%06d", 2 * i);
    rocksdb_put(db, write, key, (size_t)length, "v", 1, &error);
    CheckNoError(error);
  }
  rocksdb_writeoptions_destroy(write);
  rocksdb_flushoptions_t* const flush = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush, &error);
  CheckNoError(error);
  rocksdb_flushoptions_destroy(flush);
}

static void Read(rocksdb_t* db) {
  char* error = NULL;
  rocksdb_readoptions_t* const read = rocksdb_readoptions_create();
  for (int i = 0; i < 2 * kKeys - 1; ++i) {
    char key[16];
    size_t size = 0;
    const int length = snprintf(key, sizeof(key), "%06d", i);
    char* const value =
        rocksdb_get(db, read, key, (size_t)length, &size, &error);
    CheckNoError(error);
    CHECK((value != NULL) == (i % 2 == 0));
    rocksdb_free(value);
  }
  rocksdb_readoptions_destroy(read);
}

/* Opens a database, reads it if it is filled, and fills it; filters are used.
 */
static void UseDatabase(const char* path, rocksdb_options_t* options,
                        int filled) {
  char* error = NULL;
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_enable_statistics(options);
  rocksdb_t* const db = rocksdb_open(options, path, &error);
  CheckNoError(error);
  if (filled) Read(db);
  Write(db);
  Read(db);
  char* const text = rocksdb_options_statistics_get_string(options);
  const char* const at = strstr(text, "rocksdb.bloom.filter.useful");
  CHECK(at != NULL && strtol(strchr(at, ':') + 1, NULL, 10) > kKeys / 2);
  rocksdb_free(text);
  rocksdb_close(db);
}

/* Returns options with a table factory of their own. */
static rocksdb_options_t* Options(rocksdb_filterpolicy_t* policy) {
  rocksdb_options_t* const options = rocksdb_options_create();
  rocksdb_block_based_table_options_t* const table =
      rocksdb_block_based_options_create();
  if (policy) rocksdb_block_based_options_set_filter_policy(table, policy);
  rocksdb_block_based_options_set_block_size(table, 1234);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_block_based_options_destroy(table);
  return options;
}

static void CheckPolicies(const char* path) {
  char* error = NULL;
  /* A second time with options by name, and over the first one's filters. */
  const char* const policies[] = {
      "deltabloom:12:local",
      "id=deltabloom:10;layout=compact;payload_check=true"};
  for (int i = 0; i < 2; ++i) {
    rocksdb_filterpolicy_t* const policy =
        deltabloom_rocksdb_filterpolicy(policies[i], &error);
    CheckNoError(error);
    CHECK(policy != NULL);
    rocksdb_options_t* const options = Options(policy);
    UseDatabase(path, options, i);
    if (i == 1) rocksdb_destroy_db(options, path, &error);
    CheckNoError(error);
    rocksdb_options_destroy(options);
  }
  rocksdb_filterpolicy_t* const unused =
      deltabloom_rocksdb_filterpolicy(NULL, NULL);
  CHECK(unused != NULL);
  rocksdb_filterpolicy_destroy(unused);
}

/* Filters in options that have a table factory of their own. */
static void CheckAddFilters(const char* path) {
  rocksdb_options_t* const options = Options(NULL);
  const struct {
    rocksdb_options_t* options;
    const char *filters, *wanted;
  } refused[] = {{NULL, NULL, "options is null"},
                 {options, "deltabloom:10:ribbon", "layout 'ribbon'"}};
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); ++i) {
    CHECK_ERROR(CHECK(!deltabloom_rocksdb_add_filters(
                    refused[i].options, refused[i].filters, &error)),
                refused[i].wanted);
  }
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_filters_of_options(options, &error)),
              "there is no filter policy");
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_check("bloomfilter:10", &error)),
              "'bloomfilter:10' is no filter policy of Deltabloom");
  char* error = NULL;
  CHECK(deltabloom_rocksdb_add_filters(options, "bits_per_key=18;seeded=on",
                                       &error) == 1);
  CheckNoError(error);
  char* text = deltabloom_rocksdb_filters_of_options(options, &error);
  CheckNoError(error);
  CHECK(strstr(text, "bits_per_key=18") != NULL);
  free(text);
  UseDatabase(path, options, 0);

  text = deltabloom_rocksdb_check("deltabloom:12:local", &error);
  CheckNoError(error);
  CHECK(strstr(text, "layout=local") != NULL);
  free(text);

  char name[1000];
  snprintf(name, sizeof(name), "%s/LOG", path);
  FILE* const file = fopen(name, "rb");
  CHECK(file != NULL);
  const size_t most = 4 << 20;
  char* const log = calloc(1, most + 1);
  CHECK(log != NULL && fread(log, 1, most, file) > 0);
  fclose(file);
  rocksdb_t* const db = rocksdb_open(options, path, &error);
  CheckNoError(error);
  text = deltabloom_rocksdb_filters_of_database(db, NULL, &error);
  CheckNoError(error);
  CHECK(strstr(text, "bits_per_key=18") != NULL);
  free(text);
  rocksdb_close(db);
  rocksdb_destroy_db(options, path, &error);
  CheckNoError(error);
  rocksdb_options_destroy(options);
  CHECK(strstr(log, "block_size: 1234") != NULL);
  CHECK(strstr(log, "bits_per_key=18 ") != NULL);
  CHECK(strstr(log, "upper_bits_per_key=unset ") != NULL);
  CHECK(strstr(log, "seeded=on") != NULL);
  free(log);
}

static void CheckRefused(void) {
  const char* const refused[][2] = {
      {"deltabloom:nan", "bits_per_key 'nan'"},
      {"deltabloom:10:ribbon", "layout 'ribbon' is not valid"},
      {"bits_per_key=-1", "bits_per_key '-1' is not valid"},
      {"id=bloomfilter:10;layout=local", "cannot read"},
      {"ribbonfilter:10", "cannot read"},
      {"deltabloomy", "cannot read"},
      {"no_such_option=1", "no_such_option"},
      {"deltabloom:10:a\nb", "layout 'a\\nb' is not valid"},
      {"no\x1bsuch=1", "option 'no\\x1bsuch' is unknown"}};
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); ++i) {
    const char* const text = refused[i][0];
    CHECK_ERROR(CHECK(!deltabloom_rocksdb_filterpolicy(text, &error)),
                refused[i][1]);
    CHECK(deltabloom_rocksdb_filterpolicy(text, NULL) == NULL);
  }
}

/* The number of keys that a scan finds, forward and backward; destroys it. */
static int KeysOf(deltabloom_rocksdb_iterator_t* scan) {
  char* error = NULL;
  CHECK(scan != NULL);
  int keys = 0, backward = 0;
  deltabloom_rocksdb_iterator_seek_to_first(scan);
  while (deltabloom_rocksdb_iterator_valid(scan)) {
    ++keys;
    deltabloom_rocksdb_iterator_next(scan);
  }
  deltabloom_rocksdb_iterator_seek_to_last(scan);
  while (deltabloom_rocksdb_iterator_valid(scan)) {
    ++backward;
    deltabloom_rocksdb_iterator_prev(scan);
  }
  deltabloom_rocksdb_iterator_get_error(scan, &error);
  CheckNoError(error);
  deltabloom_rocksdb_iterator_destroy(scan);
  CHECK(keys == backward);
  return keys;
}

/* Moves of a scan of 000100 to 000109, and what it is at. */
static void CheckMoves(deltabloom_rocksdb_iterator_t* scan) {
  size_t size = 0;
  deltabloom_rocksdb_iterator_seek(scan, "000103", 6);
  CHECK(deltabloom_rocksdb_iterator_valid(scan));
  CHECK(!memcmp(deltabloom_rocksdb_iterator_key(scan, &size), "000104", 6));
  CHECK(size == 6);
  CHECK(deltabloom_rocksdb_iterator_value(scan, &size) != NULL);
  deltabloom_rocksdb_iterator_seek_for_prev(scan, "000103", 6);
  CHECK(!memcmp(deltabloom_rocksdb_iterator_key(scan, &size), "000102", 6));
  deltabloom_rocksdb_iterator_seek(scan, "000109", 6);
  CHECK(!deltabloom_rocksdb_iterator_valid(scan));
  deltabloom_rocksdb_iterator_destroy(scan);
  deltabloom_rocksdb_iterator_destroy(NULL);
}

static void CheckRefusedRanges(deltabloom_rocksdb_ranges_t* ranges,
                               rocksdb_options_t* options, rocksdb_t* db) {
  CHECK_ERROR(
      CHECK(!deltabloom_rocksdb_ranges_create("bits_per_key=0", &error)),
      "bits_per_key");
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_ranges_create("no_such=1", &error)),
              "no_such");
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_ranges_add_to(NULL, options, &error)),
              "ranges is null");
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_ranges_add_to(ranges, NULL, &error)),
              "options is null");
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_ranges_create_prefix_iterator(
                  ranges, NULL, NULL, NULL, "a", 1, &error)),
              "db is null");
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_ranges_create_prefix_iterator(
                  ranges, db, NULL, NULL, "a", 1, &error)),
              "options is null");
  CHECK_ERROR(
      CHECK(!deltabloom_rocksdb_ranges_statistics(ranges, "xml", &error)),
      "use json, prometheus or text");
}

/* The keys that scans find between two bounds, with a prefix, and between the
 * bounds of the read options. */
static void CheckScans(deltabloom_rocksdb_ranges_t* ranges, rocksdb_t* db) {
  char* error = NULL;
  rocksdb_readoptions_t* const read = rocksdb_readoptions_create();
  /* Both a pointer and a length. */
#define SCAN(family, lower, upper)                                           \
  deltabloom_rocksdb_ranges_create_iterator(ranges, db, read, family, lower, \
                                            strlen(lower), upper,            \
                                            strlen(upper), &error)
  CHECK(KeysOf(SCAN(NULL, "000100", "000200")) == 50);
  CHECK(KeysOf(SCAN(NULL, "", "x")) == kKeys);
  CheckMoves(SCAN(NULL, "000100", "000109"));
  CHECK(KeysOf(SCAN(NULL, "000101", "000102")) == 0);
  CHECK(KeysOf(SCAN(NULL, "000200", "000100")) == 0);
  CHECK(KeysOf(SCAN(NULL, "000100", "")) == 0);
  CHECK(KeysOf(deltabloom_rocksdb_ranges_create_iterator(
            ranges, db, read, NULL, "003900", 6, NULL, 0, &error)) == 50);
  CHECK(KeysOf(deltabloom_rocksdb_ranges_create_iterator(
            ranges, db, read, NULL, NULL, 0, NULL, 0, &error)) == kKeys);
  CHECK(KeysOf(deltabloom_rocksdb_ranges_create_prefix_iterator(
            ranges, db, read, NULL, "0012", 4, &error)) == 50);
  CHECK(KeysOf(deltabloom_rocksdb_ranges_create_prefix_iterator(
            ranges, db, read, NULL, NULL, 0, &error)) == kKeys);
  for (int i = 1; i < 2000; i += 2) {
    char lower[16], upper[16];
    snprintf(lower, sizeof(lower), "%06d", i);
    snprintf(upper, sizeof(upper), "%06d!", i);
    CHECK(KeysOf(SCAN(NULL, lower, upper)) == 0);
  }
  rocksdb_readoptions_set_iterate_lower_bound(read, "000150", 6);
  rocksdb_readoptions_set_iterate_upper_bound(read, "000160", 6);
  CHECK(KeysOf(SCAN(NULL, "000100", "000200")) == 5);
  rocksdb_readoptions_destroy(read);
}

/* REQUIRES: CheckScans ran. */
static void CheckScanStatistics(deltabloom_rocksdb_ranges_t* ranges) {
  char* error = NULL;
  CheckHas(deltabloom_rocksdb_ranges_statistics(ranges, "text", &error),
           "Tables that scans asked for: ");
  CheckHas(deltabloom_rocksdb_ranges_statistics(ranges, "prometheus", &error),
           "# TYPE deltabloom_range_scans_total counter");
  char* const json =
      deltabloom_rocksdb_ranges_statistics(ranges, "json", &error);
  CheckNoError(error);
  const char* const rejected = strstr(json, "\"tables_rejected\":");
  CHECK(rejected != NULL && strtol(strchr(rejected, ':') + 1, NULL, 10) > 900);
  free(json);
}

/* The snapshot is older than the only key of the family, so it sees none. */
static void CheckSnapshot(deltabloom_rocksdb_ranges_t* ranges, rocksdb_t* db,
                          rocksdb_options_t* options) {
  char* error = NULL;
  rocksdb_column_family_handle_t* const family =
      rocksdb_create_column_family(db, options, "other", &error);
  CheckNoError(error);
  const rocksdb_snapshot_t* const snapshot = rocksdb_create_snapshot(db);
  rocksdb_writeoptions_t* const write = rocksdb_writeoptions_create();
  rocksdb_put_cf(db, write, family, "a", 1, "v", 1, &error);
  CheckNoError(error);
  rocksdb_writeoptions_destroy(write);
  rocksdb_readoptions_t* const other = rocksdb_readoptions_create();
#define SCAN_OTHER()                                                          \
  deltabloom_rocksdb_ranges_create_iterator(ranges, db, other, family, "", 0, \
                                            NULL, 0, &error)
  CHECK(KeysOf(SCAN_OTHER()) == 1);
  rocksdb_readoptions_set_snapshot(other, snapshot);
  CHECK(KeysOf(SCAN_OTHER()) == 0);
  rocksdb_readoptions_destroy(other);
  rocksdb_release_snapshot(db, snapshot);
  rocksdb_column_family_handle_destroy(family);
}

/* An iterator keeps what it needs. Destroys `ranges`. */
static void CheckScanOutlivesRanges(deltabloom_rocksdb_ranges_t* ranges,
                                    rocksdb_t* db) {
  char* error = NULL;
  rocksdb_readoptions_t* const last = rocksdb_readoptions_create();
  deltabloom_rocksdb_iterator_t* const scan =
      deltabloom_rocksdb_ranges_create_iterator(
          ranges, db, last, NULL, "000100", 6, "000200", 6, &error);
  CheckNoError(error);
  deltabloom_rocksdb_ranges_destroy(ranges);
  deltabloom_rocksdb_ranges_destroy(NULL);
  rocksdb_readoptions_destroy(last);
  CHECK(KeysOf(scan) == 50);
}

/* Scans of the even numbers below 2 * kKeys. */
static void CheckRanges(const char* path) {
  char* error = NULL;
  rocksdb_options_t* const options = Options(NULL);
  rocksdb_options_set_create_if_missing(options, 1);
  deltabloom_rocksdb_ranges_t* const ranges =
      deltabloom_rocksdb_ranges_create("bits_per_key=12;prefixes=4,6", &error);
  CheckNoError(error);
  CHECK(deltabloom_rocksdb_ranges_add_to(ranges, options, &error) == 1);
  CheckNoError(error);
  rocksdb_t* const db = rocksdb_open(options, path, &error);
  CheckNoError(error);
  Write(db);
  CheckScans(ranges, db);
  CheckScanStatistics(ranges);
  CheckSnapshot(ranges, db, options);
  CheckRefusedRanges(ranges, options, db);
  CheckScanOutlivesRanges(ranges, db);
  rocksdb_close(db);
  rocksdb_destroy_db(options, path, &error);
  CheckNoError(error);
  rocksdb_options_destroy(options);
}

/* The policies are gone, what they counted is not. */
static void CheckStatistics(void) {
  const char* const formats[][2] = {
      {"json", "\"layout\":\"local\",\"filters_built\":1,"},
      {"prometheus", "# TYPE deltabloom_filter_lookups_total counter"},
      {"text", "level  layout "}};
  for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); ++i) {
    CheckHas(deltabloom_rocksdb_statistics(formats[i][0], NULL), formats[i][1]);
  }
  const char* const refused[] = {"xml", "", NULL, "x\ny"};
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); ++i) {
    CHECK_ERROR(CHECK(!deltabloom_rocksdb_statistics(refused[i], &error)),
                "use json, prometheus or text");
  }
}

int main(void) {
  char path[] = "/tmp/deltabloom-XXXXXX";
  CHECK(mkdtemp(path) != NULL);
  char* error = NULL;
  CHECK(deltabloom_rocksdb_register(&error) == 1);
  CheckNoError(error);
  CheckPolicies(path);
  CheckStatistics();
  CheckAddFilters(path);
  CheckRanges(path);
  CheckRefused();
  puts("ok");
  return 0;
}
