/* Takes the place of the functions by which programs ask RocksDB and LevelDB
 * for Bloom filters, for those who ask for that (deltabloom run
 * --replace-bloom). They get policies of Deltabloom with as many bits per key;
 * and the engine's own, with a line, whenever anything is not as it should be.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "engines/rocksdb/plugin/find_rocksdb.h"
#include "engines/rocksdb/plugin/loader.h"
#include "engines/rocksdb/plugin/module.h"
#include "engines/rocksdb/plugin/preload.h"

#define EXPORTED __attribute__((visibility("default")))

/* The functions of C++, by their mangled names. They return a FilterPolicy*. */
#define ROCKSDB_BLOOM "_ZN7rocksdb20NewBloomFilterPolicyEdb"
#define ROCKSDB_RIBBON "_ZN7rocksdb21NewRibbonFilterPolicyEdi"
#define LEVELDB_BLOOM "_ZN7leveldb20NewBloomFilterPolicyEi"
typedef void* bloom_function(double bits_per_key, bool ignored);
typedef void* ribbon_function(double bits_per_key, int bloom_before_level);
typedef void* leveldb_function(int bits_per_key);
EXPORTED bloom_function new_bloom __asm__(ROCKSDB_BLOOM);
EXPORTED ribbon_function new_ribbon __asm__(ROCKSDB_RIBBON);
EXPORTED leveldb_function new_leveldb_bloom __asm__(LEVELDB_BLOOM);

static atomic_bool has_replaced;

int deltabloom_has_replaced(void) { return has_replaced; }

/* The program or shared object at an address; its begin is null if there is
 * none. */
struct object {
  const void* begin;
  const char* path; /* empty: the program itself */
};

static struct object object_at(const void* address) {
  Dl_info info;
  struct link_map* map = NULL;
  struct object object = {NULL, ""};
  if (dladdr1(address, &info, (void**)&map, RTLD_DL_LINKMAP) != 0) {
    object.begin = info.dli_fbase;
    if (map != NULL) object.path = map->l_name;
  }
  return object;
}

/* Returns the symbol `name` of the object or of those that it needs; null if
 * there is none, or if it is in this library. */
static void* symbol_of(const struct object* object, const char* name) {
  void* const handle = dlopen(*object->path == '\0' ? NULL : object->path,
                              RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == NULL) return NULL;
  void* const symbol = dlsym(handle, name);
  dlclose(handle);
  return symbol == NULL ||
                 object_at(symbol).begin == object_at(&has_replaced).begin
             ? NULL
             : symbol;
}

struct search {
  const char* name;
  void* function;
  size_t count;
};

static void search_host(const struct deltabloom_host* host, void* argument) {
  struct search* const search = argument;
  if (host->version_function == NULL) return;
  const struct object object = object_at(host->version_function);
  void* const function = symbol_of(&object, search->name);
  if (function == NULL) return;
  search->function = function;
  ++search->count;
}

/* Returns the engine's own function: what the caller would have called. A
 * library that was loaded for one user alone, as those of Java are, is found by
 * the address of the caller. */
static void* real_function(const char* name, const void* caller) {
  const struct object object = object_at(caller);
  void* function = object.begin == NULL ? NULL : symbol_of(&object, name);
  if (function == NULL) function = dlsym(RTLD_NEXT, name);
  if (function == NULL) {
    struct search search = {name, NULL, 0};
    deltabloom_for_each_host(search_host, &search);
    if (search.count == 1) function = search.function;
  }
  if (function == NULL) {
    char problem[DELTABLOOM_PROBLEM_SIZE];
    deltabloom_refuse(problem,
                      "it asked for a Bloom filter, and it is not known of "
                      "which library: it has none");
    deltabloom_say(problem);
  }
  return function;
}

/* A module asks for RocksDB's own filters: when it is registered, and whenever
 * it makes a policy. */
static bool is_module(const void* caller) {
  const struct object object = object_at(caller);
  const void* const module = object.begin == NULL
                                 ? NULL
                                 : symbol_of(&object, DELTABLOOM_MODULE_SYMBOL);
  return module != NULL && object_at(module).begin == object.begin;
}

/* Returns a policy of Deltabloom in place of `own`, which `function` of RocksDB
 * has made, or `own`. */
static void* replace(void* own, const void* function, const void* caller) {
  if (is_module(caller)) return own;
  const struct deltabloom_module* module = NULL;
  char problem[DELTABLOOM_PROBLEM_SIZE];
  if (deltabloom_load_module(NULL, &module, problem) != DELTABLOOM_LOADED) {
    deltabloom_say(problem);
    return own;
  }
  if (!deltabloom_serves(function)) {
    deltabloom_refuse(problem,
                      "they are in one RocksDB of this process, not in the "
                      "other that was loaded later");
    deltabloom_say(problem);
    return own;
  }
  char* error = NULL;
  void* const policy = module->replace_policy(own, &error);
  if (policy == NULL) {
    deltabloom_say(error == NULL ? "deltabloom: out of memory" : error);
    free(error);
    return own;
  }
  has_replaced = true;
  return policy;
}

void* new_bloom(double bits_per_key, bool ignored) {
  const void* const caller = __builtin_return_address(0);
  void* const symbol = real_function(ROCKSDB_BLOOM, caller);
  if (symbol == NULL) return NULL;
  bloom_function* function;
  __extension__ function = (bloom_function*)symbol;
  return replace(function(bits_per_key, ignored), symbol, caller);
}

void* new_ribbon(double bits_per_key, int bloom_before_level) {
  const void* const caller = __builtin_return_address(0);
  void* const symbol = real_function(ROCKSDB_RIBBON, caller);
  if (symbol == NULL) return NULL;
  ribbon_function* function;
  __extension__ function = (ribbon_function*)symbol;
  return replace(function(bits_per_key, bloom_before_level), symbol, caller);
}

/* The LevelDB that is served, and the function of its module
 * (engines/leveldb/module.cc). */
static pthread_mutex_t leveldb_mutex = PTHREAD_MUTEX_INITIALIZER;
static const void* leveldb_begin;            /* guarded by leveldb_mutex */
static void* (*leveldb_policy)(int, char**); /* likewise; null: refused */

/* Returns a policy, or null with the line. */
static void* policy_for_leveldb(int bits_per_key, const void* function,
                                char problem[DELTABLOOM_PROBLEM_SIZE]) {
  const struct object object = object_at(function);
  if (leveldb_begin == NULL) {
    void* const handle =
        deltabloom_open_module("LevelDB", object.path, "leveldb.so", problem);
    if (handle == NULL) return NULL;
    __extension__ leveldb_policy =
        (__typeof__(leveldb_policy))dlsym(handle, "deltabloom_leveldb_policy");
    if (leveldb_policy == NULL) {
      deltabloom_refuse(problem, "its module leveldb.so is none");
      return NULL;
    }
    leveldb_begin = object.begin;
  }
  if (object.begin != leveldb_begin) {
    deltabloom_refuse(problem,
                      "they are in one LevelDB of this process, not in the "
                      "other that was loaded later");
    return NULL;
  }
  char* error = NULL;
  void* const policy = leveldb_policy(bits_per_key, &error);
  if (policy == NULL) {
    deltabloom_refuse(problem, "%s", error == NULL ? "out of memory" : error);
    free(error);
  }
  return policy;
}

void* new_leveldb_bloom(int bits_per_key) {
  void* const symbol =
      real_function(LEVELDB_BLOOM, __builtin_return_address(0));
  if (symbol == NULL) return NULL;
  char problem[DELTABLOOM_PROBLEM_SIZE];
  pthread_mutex_lock(&leveldb_mutex);
  void* const policy = policy_for_leveldb(bits_per_key, symbol, problem);
  pthread_mutex_unlock(&leveldb_mutex);
  if (policy != NULL) {
    has_replaced = true;
    return policy;
  }
  deltabloom_say(problem);
  leveldb_function* function;
  __extension__ function = (leveldb_function*)symbol;
  return function(bits_per_key);
}
