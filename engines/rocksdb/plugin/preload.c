/* The library for LD_PRELOAD. It does not link RocksDB: the loader finds out
 * which one the program has. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include "engines/rocksdb/plugin/loader.h"

#define EXPORTED __attribute__((visibility("default")))

typedef int (*main_function)(int, char**, char**);

static main_function real_main;

static int main_with_deltabloom(int argc, char** argv, char** environment) {
  const struct deltabloom_module* module = NULL;
  char problem[DELTABLOOM_PROBLEM_SIZE];
  /* A shell, for one, with which the program is started, has no RocksDB. */
  if (deltabloom_load_module(NULL, &module, problem) == DELTABLOOM_REFUSED) {
    fprintf(stderr, "%s\n", problem);
  }
  return real_main(argc, argv, environment);
}

/* The C library's function that constructs the static objects of a program and
 * calls its main(). A program that has RocksDB linked into it has none of
 * RocksDB's objects before, when the constructors of preloaded libraries run.
 */
EXPORTED int __libc_start_main(main_function main, int argc, char** argv,
                               void (*init)(void), void (*fini)(void),
                               void (*rtld_fini)(void), void* stack_end);
int __libc_start_main(main_function main, int argc, char** argv,
                      void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  int (*next)(main_function, int, char**, void (*)(void), void (*)(void),
              void (*)(void), void*);
  __extension__ next = (__typeof__(next))dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return next(main_with_deltabloom, argc, argv, init, fini, rtld_fini,
              stack_end);
}
