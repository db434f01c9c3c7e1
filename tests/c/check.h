/* What the C programs of the tests check with. */
#ifndef DELTABLOOM_TESTS_C_CHECK_H_
#define DELTABLOOM_TESTS_C_CHECK_H_

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
      exit(1);                                                         \
    }                                                                  \
  } while (0)

#endif /* DELTABLOOM_TESTS_C_CHECK_H_ */
