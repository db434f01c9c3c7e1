/* The library for LD_PRELOAD. It does not link RocksDB: the loader finds out
 * which one the program has. */
#define _GNU_SOURCE

#include "engines/rocksdb/plugin/preload.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engines/rocksdb/plugin/find_rocksdb.h"
#include "engines/rocksdb/plugin/loader.h"
#include "engines/rocksdb/plugin/module.h"

#define EXPORTED __attribute__((visibility("default")))

typedef int (*main_function)(int, char**, char**);

static main_function real_main;
static pid_t started; /* the process, as its main() began */

static pthread_mutex_t said_mutex = PTHREAD_MUTEX_INITIALIZER;
static char said[2][DELTABLOOM_PROBLEM_SIZE]; /* guarded by said_mutex */

void deltabloom_say(const char* line) {
  pthread_mutex_lock(&said_mutex);
  if (*said[1] == '\0' && strcmp(line, said[0]) != 0) {
    snprintf(said[*said[0] != '\0'], sizeof(*said), "%s", line);
    fprintf(stderr, "%s\n", line);
  }
  pthread_mutex_unlock(&said_mutex);
}

/* A module that anything has opened: a binding has a loader of its own. */
static const struct deltabloom_module* opened_module(void) {
  void* const program = dlopen(NULL, RTLD_LAZY);
  struct link_map* object = NULL;
  const struct deltabloom_module* module = NULL;
  if (program == NULL || dlinfo(program, RTLD_DI_LINKMAP, &object) != 0) {
    return NULL;
  }
  for (; object != NULL && module == NULL; object = object->l_next) {
    if (strstr(object->l_name, DELTABLOOM_MODULE_FILE) == NULL) continue;
    void* const handle =
        dlopen(object->l_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == NULL) continue;
    module = dlsym(handle, DELTABLOOM_MODULE_SYMBOL);
    if (module != NULL && module->interface != DELTABLOOM_MODULE_INTERFACE) {
      module = NULL;
    }
    dlclose(handle);
  }
  dlclose(program);
  return module;
}

static void note_any(const struct deltabloom_host* host, void* argument) {
  (void)host;
  *(bool*)argument = true;
}

/* True in a process that `deltabloom run` was to give filters to: one with
 * RocksDB, or the one that it became, unless that has started others. */
static bool is_meant(const char* run) {
  bool has_rocksdb = false;
  deltabloom_for_each_host(note_any, &has_rocksdb);
  struct rusage children;
  return has_rocksdb || (strtol(run, NULL, 10) == (long)getpid() &&
                         getrusage(RUSAGE_CHILDREN, &children) == 0 &&
                         children.ru_maxrss == 0);
}

/* Called at the end of a process. */
static void say_if_unused(void) {
  const char* const run = secure_getenv("DELTABLOOM_RUN");
  /* A forked child has its parent's program. */
  if (run == NULL || getpid() != started || *said[0] != '\0') return;
  const struct deltabloom_module* const module = opened_module();
  if (module != NULL && module->was_used()) return;
  const bool replaces = deltabloom_has_replaced != NULL;
  if ((replaces && deltabloom_has_replaced()) || !is_meant(run)) return;
  char problem[DELTABLOOM_PROBLEM_SIZE];
  deltabloom_refuse(
      problem, "none was made or read: %s",
      replaces
          ? "it did not ask RocksDB or LevelDB for a Bloom filter, or has "
            "them inside, where calls cannot be replaced"
          : "its options have to name them (filter_policy=deltabloom:10), or "
            "--replace-bloom to replace the Bloom filters that it asks RocksDB "
            "or LevelDB for");
  deltabloom_say(problem);
}

static int main_with_deltabloom(int argc, char** argv, char** environment) {
  const struct deltabloom_module* module = NULL;
  char problem[DELTABLOOM_PROBLEM_SIZE];
  started = getpid();
  /* A shell, for one, with which the program is started, has no RocksDB. */
  if (deltabloom_load_module(NULL, &module, problem) == DELTABLOOM_REFUSED) {
    deltabloom_say(problem);
  }
  atexit(say_if_unused);
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
