/* The policy in a database that is used through RocksDB's C interface. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <deltabloom/c.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kKeys = 2000 };

static void CheckNoError(char* error) {
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
    exit(1);
  }
}

static rocksdb_t* Open(const char* path, const char* policy_text,
                       rocksdb_options_t* options) {
  char* error = NULL;
  rocksdb_filterpolicy_t* const policy =
      deltabloom_rocksdb_filterpolicy(policy_text, &error);
  CheckNoError(error);
  CHECK(policy != NULL);
  rocksdb_block_based_table_options_t* const table =
      rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_filter_policy(table, policy);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_enable_statistics(options);
  rocksdb_t* const db = rocksdb_open(options, path, &error);
  CheckNoError(error);
  return db;
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

/* The value of a line "NAME COUNT : n" of RocksDB's statistics. */
static long Ticker(rocksdb_options_t* options, const char* name) {
  char* const text = rocksdb_options_statistics_get_string(options);
  const char* const at = strstr(text, name);
  CHECK(at != NULL);
  const long value = strtol(strchr(at, ':') + 1, NULL, 10);
  rocksdb_free(text);
  return value;
}

static void CheckRefused(const char* text, const char* wanted) {
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_filterpolicy(text, &error)), wanted);
  CHECK(deltabloom_rocksdb_filterpolicy(text, NULL) == NULL);
}

static void CheckStatistics(const char* format, const char* wanted) {
  char* error = NULL;
  CheckHas(deltabloom_rocksdb_statistics(format, &error), wanted);
  CheckNoError(error);
}

static void CheckStatisticsRefused(const char* format) {
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_statistics(format, &error)),
              "use json, prometheus or text");
}

static char* ReadLog(const char* path) {
  char name[1000];
  snprintf(name, sizeof(name), "%s/LOG", path);
  FILE* const file = fopen(name, "rb");
  CHECK(file != NULL);
  const size_t most = 4 << 20;
  char* const text = calloc(1, most + 1);
  CHECK(text != NULL && fread(text, 1, most, file) > 0);
  fclose(file);
  return text;
}

static void CheckAddRefused(rocksdb_options_t* options, const char* filters,
                            const char* wanted) {
  CHECK_ERROR(CHECK(!deltabloom_rocksdb_add_filters(options, filters, &error)),
              wanted);
}

/* Levels and ranges, in options that have a table factory of their own. */
static void CheckAddFilters(void) {
  char path[] = "/tmp/deltabloom-XXXXXX";
  CHECK(mkdtemp(path) != NULL);
  char* error = NULL;
  rocksdb_options_t* const options = rocksdb_options_create();
  rocksdb_block_based_table_options_t* const table =
      rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_size(table, 1234);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_block_based_options_destroy(table);
  CheckAddRefused(NULL, NULL, "options is null");
  CheckAddRefused(options, "deltabloom:10:ribbon", "layout 'ribbon'");
  CheckAddRefused(options, "range=on;false_positive_rate=0.01", "range");
  CHECK(deltabloom_rocksdb_add_filters(
            options, "bits_per_key=18;allocation=levels;range=on", &error) ==
        1);
  CheckNoError(error);
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_enable_statistics(options);
  rocksdb_t* const db = rocksdb_open(options, path, &error);
  CheckNoError(error);
  Write(db);
  Read(db);
  CHECK(Ticker(options, "rocksdb.bloom.filter.useful") > kKeys / 2);
  rocksdb_close(db);
  char* const log = ReadLog(path);
  rocksdb_destroy_db(options, path, &error);
  CheckNoError(error);
  rocksdb_options_destroy(options);
  CHECK(strstr(log, "block_size: 1234") != NULL);
  CHECK(strstr(log, "prefix_extractor: deltabloom.Range") != NULL);
  CHECK(strstr(log, "bits_per_key=18 ") != NULL);
  CHECK(strstr(log, "allocation=levels") != NULL);
  CHECK(strstr(log, "without its listener") == NULL);
  CHECK(strstr(log, "a filter has no range part") == NULL);
  free(log);
}

int main(void) {
  char path[] = "/tmp/deltabloom-XXXXXX";
  CHECK(mkdtemp(path) != NULL);
  char* error = NULL;
  CHECK(deltabloom_rocksdb_register(&error) == 1);
  CheckNoError(error);

  /* A policy that is not used. */
  rocksdb_filterpolicy_t* unused = deltabloom_rocksdb_filterpolicy(NULL, NULL);
  CHECK(unused != NULL);
  rocksdb_filterpolicy_destroy(unused);

  /* A second time with options by name, and over the first one's filters. */
  const char* const policies[] = {
      "deltabloom:12:local",
      "id=deltabloom:10;layout=compact;payload_check=true"};
  for (int i = 0; i < 2; ++i) {
    rocksdb_options_t* const options = rocksdb_options_create();
    rocksdb_t* const db = Open(path, policies[i], options);
    if (i == 1) Read(db);
    Write(db);
    Read(db);
    CHECK(Ticker(options, "rocksdb.bloom.filter.useful") > kKeys / 2);
    rocksdb_close(db);
    if (i == 1) rocksdb_destroy_db(options, path, &error);
    CheckNoError(error);
    rocksdb_options_destroy(options);
  }

  /* Their policies are gone, what they counted is not. */
  CheckStatistics("json", "\"layout\":\"local\",\"filters_built\":1,");
  CheckStatistics("prometheus",
                  "# TYPE deltabloom_filter_lookups_total counter");
  CheckStatistics("text", "level  layout ");
  CheckStatisticsRefused("xml");
  CheckStatisticsRefused("");
  CheckStatisticsRefused(NULL);

  CheckAddFilters();

  CheckRefused("deltabloom:nan", "bits_per_key 'nan'");
  CheckRefused("deltabloom:10:ribbon", "layout 'ribbon' is unknown");
  CheckRefused("bits_per_key=-1", "bits_per_key '-1' is out of range");
  CheckRefused("id=bloomfilter:10;layout=local", "cannot read");
  CheckRefused("ribbonfilter:10", "cannot read");
  CheckRefused("deltabloomy", "cannot read");
  CheckRefused("no_such_option=1", "no_such_option");
  CheckRefused("deltabloom:10:a\nb", "layout 'a\\nb' is unknown");
  CheckRefused("no\x1bsuch=1", "option 'no\\x1bsuch' is unknown");
  CheckStatisticsRefused("x\ny");
  puts("ok");
  return 0;
}
