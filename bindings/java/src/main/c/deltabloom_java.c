/* The native half of deltabloom.Deltabloom and of DeltabloomRanges. */
#include <jni.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "engines/rocksdb/plugin/loader.h"

static void throw_exception(JNIEnv* env, const char* line) {
  const jclass type = (*env)->FindClass(env, "org/rocksdb/RocksDBException");
  if (type != NULL) (*env)->ThrowNew(env, type, line);
}

/* The module that load() below has loaded. */
static const struct deltabloom_module* module;

static void* from_handle(jlong handle) { return (void*)(intptr_t)handle; }

/* Throws *error, or returns the text; frees both. */
static jstring returned(JNIEnv* env, char* text, char* error) {
  jstring result = NULL;
  if (text == NULL) {
    throw_exception(env, error == NULL ? "deltabloom: out of memory" : error);
  } else {
    result = (*env)->NewStringUTF(env, text);
  }
  free(text);
  free(error);
  return result;
}

JNIEXPORT void JNICALL Java_deltabloom_Deltabloom_loadModule(JNIEnv* env,
                                                             jclass type,
                                                             jstring folder) {
  (void)type;
  const char* const chosen =
      folder == NULL ? NULL : (*env)->GetStringUTFChars(env, folder, NULL);
  char* const problem = malloc(DELTABLOOM_PROBLEM_SIZE);
  if (problem == NULL) {
    throw_exception(env, "deltabloom: out of memory");
  } else if (deltabloom_load_module(chosen, &module, problem) !=
             DELTABLOOM_LOADED) {
    throw_exception(env, problem);
  }
  free(problem);
  if (chosen != NULL) (*env)->ReleaseStringUTFChars(env, folder, chosen);
}

JNIEXPORT jlong JNICALL Java_deltabloom_Deltabloom_newPolicy(JNIEnv* env,
                                                             jclass type,
                                                             jstring text) {
  (void)type;
  const char* const chars = (*env)->GetStringUTFChars(env, text, NULL);
  if (chars == NULL) return 0;
  char* error = NULL;
  void* const policy = module->new_policy(chars, &error);
  (*env)->ReleaseStringUTFChars(env, text, chars);
  if (policy == NULL) {
    throw_exception(env, error == NULL ? "deltabloom: out of memory" : error);
  }
  free(error);
  return (jlong)(intptr_t)policy;
}

JNIEXPORT jstring JNICALL Java_deltabloom_Deltabloom_checkText(JNIEnv* env,
                                                               jclass type,
                                                               jstring text) {
  (void)type;
  const char* const chars = (*env)->GetStringUTFChars(env, text, NULL);
  if (chars == NULL) return NULL;
  char* error = NULL;
  char* const full = module->check(chars, &error);
  (*env)->ReleaseStringUTFChars(env, text, chars);
  return returned(env, full, error);
}

JNIEXPORT jstring JNICALL Java_deltabloom_Deltabloom_filtersOfOptions(
    JNIEnv* env, jclass type, jlong options) {
  (void)type;
  char* error = NULL;
  char* const text = module->filters_of_options(from_handle(options), &error);
  return returned(env, text, error);
}

JNIEXPORT jstring JNICALL Java_deltabloom_Deltabloom_filtersOfDatabase(
    JNIEnv* env, jclass type, jlong db, jlong family) {
  (void)type;
  char* error = NULL;
  char* const text =
      module->filters_of_database(from_handle(db), from_handle(family), &error);
  return returned(env, text, error);
}

JNIEXPORT jstring JNICALL Java_deltabloom_Deltabloom_statisticsIn(
    JNIEnv* env, jclass type, jstring format) {
  (void)type;
  const char* const chars = (*env)->GetStringUTFChars(env, format, NULL);
  if (chars == NULL) return NULL;
  char* error = NULL;
  char* const text = module->statistics(chars, &error);
  (*env)->ReleaseStringUTFChars(env, format, chars);
  return returned(env, text, error);
}

/* Throws *error, if there is one, and frees it. */
static void throw_error(JNIEnv* env, char* error) {
  if (error != NULL) throw_exception(env, error);
  free(error);
}

JNIEXPORT jlong JNICALL Java_deltabloom_DeltabloomRanges_create(
    JNIEnv* env, jclass type, jstring options) {
  (void)type;
  const char* const chars = (*env)->GetStringUTFChars(env, options, NULL);
  if (chars == NULL) return 0;
  char* error = NULL;
  void* const ranges = module->ranges->create(chars, &error);
  (*env)->ReleaseStringUTFChars(env, options, chars);
  throw_error(env, error);
  return (jlong)(intptr_t)ranges;
}

JNIEXPORT void JNICALL Java_deltabloom_DeltabloomRanges_destroy(JNIEnv* env,
                                                                jclass type,
                                                                jlong ranges) {
  (void)env;
  (void)type;
  module->ranges->destroy(from_handle(ranges));
}

JNIEXPORT void JNICALL Java_deltabloom_DeltabloomRanges_addToOptions(
    JNIEnv* env, jclass type, jlong ranges, jlong options) {
  (void)type;
  char* error = NULL;
  module->ranges->add_to_options(from_handle(ranges), from_handle(options),
                                 &error);
  throw_error(env, error);
}

JNIEXPORT void JNICALL Java_deltabloom_DeltabloomRanges_addToFamily(
    JNIEnv* env, jclass type, jlong ranges, jlong options) {
  (void)type;
  char* error = NULL;
  module->ranges->add_to_family(from_handle(ranges), from_handle(options),
                                &error);
  throw_error(env, error);
}

/* The bytes of an array that may be null; null if there is no memory. */
struct array {
  jbyte* bytes;
  size_t size;
};

static struct array get_array(JNIEnv* env, jbyteArray from) {
  struct array array = {NULL, 0};
  if (from == NULL) return array;
  array.bytes = (*env)->GetByteArrayElements(env, from, NULL);
  array.size = (size_t)(*env)->GetArrayLength(env, from);
  return array;
}

static void release_array(JNIEnv* env, jbyteArray from, struct array array) {
  if (array.bytes == NULL) return;
  (*env)->ReleaseByteArrayElements(env, from, array.bytes, JNI_ABORT);
}

JNIEXPORT jlong JNICALL Java_deltabloom_DeltabloomRanges_newScan(
    JNIEnv* env, jclass type, jlong ranges, jlong db, jlong family,
    jlong options, jbyteArray lower, jbyteArray upper, jboolean is_prefix) {
  (void)type;
  const struct array from = get_array(env, lower);
  const struct array to = get_array(env, upper);
  void* iterator = NULL;
  char* error = NULL;
  if ((*env)->ExceptionCheck(env)) {
    /* Out of memory. */
  } else if (is_prefix) {
    iterator = module->ranges->new_prefix_iterator(
        from_handle(ranges), from_handle(db), from_handle(options),
        from_handle(family), (const char*)from.bytes, from.size, &error);
  } else {
    iterator = module->ranges->new_iterator(
        from_handle(ranges), from_handle(db), from_handle(options),
        from_handle(family), (const char*)from.bytes, from.size,
        (const char*)to.bytes, to.size, &error);
  }
  release_array(env, lower, from);
  release_array(env, upper, to);
  throw_error(env, error);
  return (jlong)(intptr_t)iterator;
}

JNIEXPORT jstring JNICALL Java_deltabloom_DeltabloomRanges_statisticsIn(
    JNIEnv* env, jclass type, jlong ranges, jstring format) {
  (void)type;
  const char* const chars = (*env)->GetStringUTFChars(env, format, NULL);
  if (chars == NULL) return NULL;
  char* error = NULL;
  char* const text =
      module->ranges->statistics(from_handle(ranges), chars, &error);
  (*env)->ReleaseStringUTFChars(env, format, chars);
  return returned(env, text, error);
}
