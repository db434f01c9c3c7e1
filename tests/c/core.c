/* The core from a C program: keys are found, errors are reported and freed. */
#include "check.h"

enum { kKeys = 1000 };

static size_t Key(char* buffer, size_t size, int i) {
  return (size_t)snprintf(buffer, size, "key%d", i);
}

static void Fill(deltabloom_builder_t* builder) {
  char key[16];
  char* error = NULL;
  for (int i = 0; i < kKeys; ++i) {
    deltabloom_builder_add(builder, key, Key(key, sizeof(key), i), &error);
    CHECK(error == NULL);
  }
  CHECK(deltabloom_builder_keys_added(builder) == kKeys);
}

static void CheckLayout(const char* layout, const char* hash,
                        uint64_t max_build_bytes, const char* description) {
  char* error = NULL;
  deltabloom_options_t* const options = deltabloom_options_create();
  deltabloom_options_set_bits_per_key(options, 12);
  deltabloom_options_set_layout(options, layout, &error);
  deltabloom_options_set_hash(options, hash, &error);
  deltabloom_options_set_max_build_bytes(options, max_build_bytes);
  CHECK(error == NULL);
  deltabloom_builder_t* const builder =
      deltabloom_builder_create(options, &error);
  deltabloom_options_destroy(options);
  CHECK(builder != NULL && error == NULL);
  Fill(builder);
  const uint64_t expected = deltabloom_builder_filter_size(builder);
  size_t size = 0;
  char* const bytes = deltabloom_builder_finish(builder, &size, &error);
  CHECK(bytes != NULL && error == NULL && size == expected);
  CHECK(deltabloom_builder_keys_added(builder) == 0);
  deltabloom_builder_destroy(builder);

  char* const text = deltabloom_filter_describe(bytes, size);
  CHECK(strncmp(text, description, strlen(description)) == 0);
  deltabloom_free(text);

  deltabloom_filter_t* const filter =
      deltabloom_filter_create(bytes, size, hash, &error);
  CHECK(filter != NULL && error == NULL);
  char names[2 * kKeys][16];
  const char* keys[2 * kKeys];
  size_t lengths[2 * kKeys];
  unsigned char answers[2 * kKeys];
  int positives = 0;
  for (int i = 0; i < 2 * kKeys; ++i) {
    lengths[i] = Key(names[i], sizeof(names[i]), i);
    keys[i] = names[i];
  }
  deltabloom_filter_may_match_many(filter, 2 * kKeys, keys, lengths, answers);
  for (int i = 0; i < 2 * kKeys; ++i) {
    CHECK(deltabloom_filter_may_match(filter, keys[i], lengths[i]) ==
          answers[i]);
    if (i < kKeys) CHECK(answers[i] == 1);
    positives += i < kKeys ? 0 : answers[i];
  }
  CHECK(positives < kKeys / 20);
  CHECK(deltabloom_filter_may_match(filter, NULL, 0) == 0);
  deltabloom_filter_destroy(filter);
  deltabloom_free(bytes);
}

/* The program is linked so that all of it calls __wrap_malloc for malloc. */
static size_t largest_block = (size_t)-1;
void* __real_malloc(size_t size);
void* __wrap_malloc(size_t size) {
  return size > largest_block ? NULL : __real_malloc(size);
}

static void CheckOutOfMemory(void) {
  deltabloom_builder_t* const builder = deltabloom_builder_create(NULL, NULL);
  Fill(builder);
  size_t size = 1;
  largest_block = kKeys;
  CHECK_ERROR(CHECK(!deltabloom_builder_finish(builder, &size, &error)),
              "out of memory");
  largest_block = (size_t)-1;
  CHECK(size == 0 && deltabloom_builder_filter_size(builder) == 0);
  CHECK_ERROR(deltabloom_builder_add(builder, "a", 1, &error),
              "this builder ran out of memory before: destroy it");
  deltabloom_builder_destroy(builder);
}

/* A null that is not legal is an error, or may match. */
static void CheckNulls(void) {
  deltabloom_options_t* const options = deltabloom_options_create();
  deltabloom_builder_t* const builder = deltabloom_builder_create(NULL, NULL);
  deltabloom_range_builder_t* const ranges =
      deltabloom_range_builder_create(10, NULL, NULL);
  size_t size = 1;
  CHECK_ERROR(deltabloom_options_set_layout(NULL, "local", &error),
              "options is null");
  CHECK_ERROR(deltabloom_options_set_layout(options, NULL, &error),
              "layout is null");
  CHECK_ERROR(deltabloom_options_set_hash(NULL, "leveldb", &error),
              "options is null");
  CHECK_ERROR(deltabloom_builder_finish(NULL, &size, &error),
              "builder is null");
  CHECK_ERROR(deltabloom_builder_add(builder, NULL, 1, &error), "key is null");
  CHECK_ERROR(deltabloom_builder_finish(builder, NULL, &error), "size is null");
  CHECK_ERROR(deltabloom_filter_create(NULL, 1, NULL, &error), "bytes is null");
  CHECK_ERROR(deltabloom_range_builder_add(ranges, NULL, 1, &error),
              "key is null");
  CHECK(size == 0);
  deltabloom_options_set_bits_per_key(NULL, 1);
  deltabloom_options_set_max_build_bytes(NULL, 1);
  CHECK(deltabloom_builder_keys_added(builder) == 0);
  CHECK(deltabloom_builder_keys_added(NULL) == 0);
  CHECK(deltabloom_builder_filter_size(NULL) == 0);
  CHECK(deltabloom_filter_describe(NULL, 1) == NULL);
  CHECK(deltabloom_filter_may_match(NULL, "a", 1) == 1);
  CHECK(deltabloom_range_filter_may_match(NULL, "a", 1, "b", 1) == 1);
  const char* const keys[] = {"a", NULL};
  const size_t lengths[] = {1, 1};
  unsigned char answers[2] = {0, 0};
  deltabloom_filter_may_match_many(NULL, 2, keys, lengths, answers);
  CHECK(answers[0] == 1 && answers[1] == 1);
  deltabloom_builder_add(builder, "a", 1, NULL);
  char* const bytes = deltabloom_builder_finish(builder, &size, NULL);
  deltabloom_filter_t* const filter =
      deltabloom_filter_create(bytes, size, NULL, NULL);
  answers[1] = 0;
  deltabloom_filter_may_match_many(filter, 2, keys, lengths, answers);
  CHECK(answers[0] == 1 && answers[1] == 1);
  deltabloom_filter_destroy(filter);
  deltabloom_free(bytes);
  deltabloom_range_builder_destroy(ranges);
  deltabloom_builder_destroy(builder);
  deltabloom_options_destroy(options);
}

/* A range filter of the numbers of hundreds. */
static void CheckRanges(void) {
  CHECK_ERROR(CHECK(!deltabloom_range_builder_create(-1, "4", &error)),
              "bits_per_key");
  CHECK_ERROR(CHECK(!deltabloom_range_builder_create(8, "/", &error)),
              "prefixes = / is not valid");
  char* error = NULL;
  deltabloom_range_builder_t* const builder =
      deltabloom_range_builder_create(16, "4", &error);
  char key[16];
  char next[16];
  for (int i = 0; i < kKeys; ++i) {
    snprintf(key, sizeof(key), "%04d00", 3 * i);
    deltabloom_range_builder_add(builder, key, 6, &error);
  }
  size_t size = 0;
  char* const bytes = deltabloom_range_builder_finish(builder, &size, &error);
  CHECK(bytes != NULL && error == NULL && size > 0);
  deltabloom_range_filter_t* const filter =
      deltabloom_range_filter_create(bytes, size, &error);
  int positives = 0;
  for (int i = 0; i < kKeys; ++i) {
    snprintf(key, sizeof(key), "%04d00", 3 * i);
    snprintf(next, sizeof(next), "%04d01", 3 * i);
    CHECK(deltabloom_range_filter_may_match(filter, key, 6, next, 6) == 1);
    snprintf(key, sizeof(key), "%04d40", 3 * i + 1);
    snprintf(next, sizeof(next), "%04d50", 3 * i + 1);
    positives += deltabloom_range_filter_may_match(filter, key, 6, next, 6);
  }
  CHECK(positives < kKeys / 5);
  deltabloom_range_filter_destroy(filter);
  deltabloom_free(bytes);
  deltabloom_range_builder_add(builder, "b", 1, NULL);
  deltabloom_range_builder_add(builder, "a", 1, NULL);
  CHECK(!deltabloom_range_builder_finish(builder, &size, &error) && size == 0);
  CheckHas(error, "the keys were not in order");
  deltabloom_range_builder_destroy(builder);
}

static void CheckErrors(void) {
  deltabloom_options_t* const options = deltabloom_options_create();
  CHECK_ERROR(deltabloom_options_set_layout(options, "ribbon", &error),
              "layout 'ribbon' is unknown: use classic, local");
  CHECK_ERROR(deltabloom_options_set_layout(options, "a\nb", &error),
              "layout 'a\\nb' is unknown");
  CHECK_ERROR(deltabloom_options_set_hash(options, "md5", &error),
              "hash 'md5' is unknown: use murmurhash2 or leveldb");
  CHECK_ERROR(deltabloom_options_set_hash(options, "a\x1b", &error),
              "hash 'a\\x1b' is unknown");
  deltabloom_options_set_bits_per_key(options, -1);
  CHECK_ERROR(CHECK(!deltabloom_builder_create(options, &error)),
              "bits_per_key");
  CHECK(deltabloom_builder_create(options, NULL) == NULL);
  deltabloom_options_destroy(options);
  CHECK_ERROR(CHECK(!deltabloom_filter_create("x", 1, "sha1", &error)),
              "hash 'sha1'");

  deltabloom_options_destroy(NULL);
  deltabloom_builder_destroy(NULL);
  deltabloom_filter_destroy(NULL);
  deltabloom_range_builder_destroy(NULL);
  deltabloom_range_filter_destroy(NULL);
}

/* The bits that a rate takes depend on the layout and, in classic, on the
 * number of keys; an ideal Bloom filter would take 9.585 bits per key for 0.01.
 */
static void CheckRates(void) {
  deltabloom_options_t* const options = deltabloom_options_create();
  const struct {
    const char* layout;
    uint64_t keys;
    double least_bits, most_bits;
  } cases[] = {{"classic", 30000, 9.9, 10.1},
               {"local", 1000000, 9.8, 10.0},
               {"compact", 1000000, 6.7, 6.9}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
    deltabloom_options_set_layout(options, cases[i].layout, NULL);
    const double bits =
        deltabloom_options_bits_per_key_for_rate(options, 0.01, cases[i].keys);
    CHECK(bits > cases[i].least_bits && bits < cases[i].most_bits);
    deltabloom_options_set_bits_per_key(options, bits);
    const double rate =
        deltabloom_options_false_positive_rate(options, cases[i].keys);
    CHECK(rate > 0.0099 && rate <= 0.01);
  }
  CHECK(deltabloom_options_bits_per_key_for_rate(options, 1, 10) == 0);
  deltabloom_options_set_bits_per_key(options, -1);
  const double rate = deltabloom_options_false_positive_rate(options, 10);
  CHECK(rate != rate);
  deltabloom_options_destroy(options);
  /* The defaults: layout classic, 10 bits per key. */
  const double usual = deltabloom_options_false_positive_rate(NULL, 10000);
  CHECK(usual > 0.008 && usual < 0.011);
}

int main(void) {
  CHECK(strlen(deltabloom_version()) >= 5);
  CheckLayout("classic", "leveldb", 0, "classic, 8 probes");
  CheckLayout("local", NULL, 0, "local");
  CheckLayout("compact", "murmurhash2", 1 << 20, "compact");
  CheckLayout("compact", NULL, 1, "local");
  CheckErrors();
  CheckNulls();
  CheckOutOfMemory();
  CheckRanges();

  /* Any bytes are a filter. These match every key. */
  deltabloom_filter_t* const filter =
      deltabloom_filter_create("\xff\xff\xff", 3, "leveldb", NULL);
  CHECK(deltabloom_filter_may_match(filter, "k", 1) == 1);
  deltabloom_filter_destroy(filter);

  uint64_t bits = 0;
  uint32_t probes = 0;
  deltabloom_size_for_rate(1000, 0.01, NULL, NULL);
  deltabloom_size_for_rate(1000, 0.01, &bits, &probes);
  CHECK(bits > 9500 && bits < 9700 && probes == 7);
  CheckRates();
  puts("ok");
  return 0;
}
