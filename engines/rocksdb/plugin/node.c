/* The plugin is an addon of Node.js, too: process.dlopen() loads the module,
 * and exports check(text) and statistics(format) of load.h. They throw an Error
 * with the line. */
#include <stddef.h>
#include <stdlib.h>

#include "engines/rocksdb/plugin/loader.h"

#define EXPORTED __attribute__((visibility("default")))

/* Node's interface, version 1. Only a Node.js has these functions. */
typedef void* (*napi_function)(void* environment, void* call);
enum { NAPI_OK = 0 };
__attribute__((weak)) int napi_throw_error(void* environment, const char* code,
                                           const char* message);
__attribute__((weak)) int napi_get_cb_info(void* environment, void* call,
                                           size_t* count, void** arguments,
                                           void** receiver, void** data);
__attribute__((weak)) int napi_get_value_string_utf8(void* environment,
                                                     void* value, char* text,
                                                     size_t size,
                                                     size_t* length);
__attribute__((weak)) int napi_create_string_utf8(void* environment,
                                                  const char* text,
                                                  size_t length, void** value);
__attribute__((weak)) int napi_create_function(void* environment,
                                               const char* name, size_t length,
                                               napi_function function,
                                               void* data, void** value);
__attribute__((weak)) int napi_set_named_property(void* environment,
                                                  void* object,
                                                  const char* name,
                                                  void* value);

typedef char* (*text_function)(const char* text, char** error);

/* Calls function() with the text that the call has as its argument. */
static void* call_with_text(void* environment, void* call,
                            text_function function) {
  void* argument = NULL;
  size_t count = 1;
  size_t length = 0;
  char* text = NULL;
  if (napi_get_cb_info(environment, call, &count, &argument, NULL, NULL) !=
          NAPI_OK ||
      napi_get_value_string_utf8(environment, argument, NULL, 0, &length) !=
          NAPI_OK ||
      (text = malloc(length + 1)) == NULL ||
      napi_get_value_string_utf8(environment, argument, text, length + 1,
                                 NULL) != NAPI_OK) {
    free(text);
    napi_throw_error(environment, NULL,
                     "deltabloom: the argument is no string");
    return NULL;
  }
  char* error = NULL;
  char* const result = function(text, &error);
  free(text);
  void* value = NULL;
  if (result == NULL) {
    napi_throw_error(environment, NULL,
                     error == NULL ? "deltabloom: out of memory" : error);
  } else {
    napi_create_string_utf8(environment, result, (size_t)-1, &value);
  }
  free(result);
  free(error);
  return value;
}

/* The loaded module. */
static const struct deltabloom_module* serving;

static void* check(void* environment, void* call) {
  return call_with_text(environment, call, serving->check);
}

static void* statistics(void* environment, void* call) {
  return call_with_text(environment, call, serving->statistics);
}

static void export_function(void* environment, void* exports, const char* name,
                            napi_function function) {
  void* value = NULL;
  if (napi_create_function(environment, name, (size_t)-1, function, NULL,
                           &value) == NAPI_OK) {
    napi_set_named_property(environment, exports, name, value);
  }
}

/* Node.js calls it when the library is loaded by process.dlopen(). */
EXPORTED void* napi_register_module_v1(void* environment, void* exports);
void* napi_register_module_v1(void* environment, void* exports) {
  char problem[DELTABLOOM_PROBLEM_SIZE];
  const struct deltabloom_module* found = NULL;
  if (deltabloom_load_module(NULL, &found, problem) != DELTABLOOM_LOADED) {
    napi_throw_error(environment, NULL, problem);
    return exports;
  }
  serving = found;
  export_function(environment, exports, "check", check);
  export_function(environment, exports, "statistics", statistics);
  return exports;
}
