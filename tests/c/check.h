/* Assertions of the C programs among the tests. */
#pragma once

#include <deltabloom/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
      exit(1);                                                         \
    }                                                                  \
  } while (0)

/* Checks that `text`, which Deltabloom made, contains `wanted`, and frees it.
 */
static inline void CheckHas(char* text, const char* wanted) {
  if (text == NULL || strstr(text, wanted) == NULL) {
    fprintf(stderr, "'%s' is not in '%s'\n", wanted, text ? text : "(null)");
    exit(1);
  }
  free(text);
}

/* Checks that `call`, which gets `&error`, reports an error with `wanted`. */
#define CHECK_ERROR(call, wanted) \
  do {                            \
    char* error = NULL;           \
    call;                         \
    CheckHas(error, wanted);      \
  } while (0)
