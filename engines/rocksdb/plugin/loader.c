#define _GNU_SOURCE

#include "engines/rocksdb/plugin/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engines/rocksdb/plugin/find_rocksdb.h"
#include "engines/rocksdb/plugin/module.h"

/* Modules name it as a library that they need (CMakeLists.txt): "rocksdb" or
 * "leveldb" is in the place of %s. The C library remembers which file has such
 * a name, so there is one for each engine. */
#define HOST_NAME "deltabloom-%s-host"

struct found {
  struct deltabloom_host host;
  struct deltabloom_host other; /* its path is null if there is one host */
  size_t count;
};

/* Where the module is opened: the folder of two links, to the module and to the
 * file of the host under HOST_NAME, which the module looks for beside itself.
 * The C library recognises the host's file as the one that is loaded. So the
 * module's symbols are found there, and the host's stay invisible to other
 * libraries. */
struct private_folder {
  char path[PATH_MAX];
  char module[PATH_MAX + sizeof(DELTABLOOM_MODULE_FILE)];
  char host[PATH_MAX + sizeof(HOST_NAME) + sizeof("rocksdb")];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const struct deltabloom_module* loaded; /* guarded by mutex */
static const void* served; /* the begin of its RocksDB in memory; likewise */

enum deltabloom_load_result deltabloom_refuse(
    char problem[DELTABLOOM_PROBLEM_SIZE], const char* format, ...) {
  char program[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
  snprintf(program + (size < 0 ? 0 : size), size < 0 ? sizeof(program) : 1,
           "%s", size < 0 ? "this program" : "");
  const int start =
      snprintf(problem, DELTABLOOM_PROBLEM_SIZE,
               "deltabloom: no filters of Deltabloom in %s: ", program);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem + start, DELTABLOOM_PROBLEM_SIZE - (size_t)start, format,
            arguments);
  va_end(arguments);
  return DELTABLOOM_REFUSED;
}

static void note(const struct deltabloom_host* host, void* argument) {
  struct found* const found = argument;
  *(found->count == 0 ? &found->host : &found->other) = *host;
  ++found->count;
}

static const char* name_of(const char* host) {
  return *host == '\0' ? "the program itself" : host;
}

/* Writes the path of the shared object that this code is in, by its real name.
 */
static bool find_own_file(char path[PATH_MAX]) {
  Dl_info self;
  return dladdr(&loaded, &self) != 0 && realpath(self.dli_fname, path) != NULL;
}

/* Writes the path of the module `name`. `searched` receives the folders. */
static bool find_module(const char* folder, const char* name,
                        char path[PATH_MAX], char* searched, size_t size) {
  char beside[PATH_MAX];
  if (find_own_file(beside)) {
    char* const end = strrchr(beside, '/');
    snprintf(end, sizeof(beside) - (size_t)(end - beside), "/deltabloom");
  } else {
    *beside = '\0'; /* the file is deleted, as an archive's may be */
  }
  const char* const folders[] = {folder, secure_getenv("DELTABLOOM_MODULES"),
                                 beside, "/usr/local/lib/deltabloom",
                                 "/usr/lib/deltabloom"};
  *searched = '\0';
  for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); ++i) {
    if (folders[i] == NULL || *folders[i] == '\0') continue;
    char file[2 * PATH_MAX];
    snprintf(file, sizeof(file), "%s/%s", folders[i], name);
    if (realpath(file, path) != NULL) return true;
    const size_t length = strlen(searched);
    snprintf(searched + length, size - length, "%s%s", length == 0 ? "" : ", ",
             folders[i]);
  }
  return false;
}

static bool make_folder(struct private_folder* folder, const char* engine,
                        const char* module, const char* host) {
  const char* parent = secure_getenv("TMPDIR");
  if (parent == NULL || *parent == '\0') parent = "/tmp";
  snprintf(folder->path, sizeof(folder->path), "%s/deltabloom-XXXXXX", parent);
  *folder->module = *folder->host = '\0';
  if (mkdtemp(folder->path) == NULL) return false;
  snprintf(folder->module, sizeof(folder->module), "%s" DELTABLOOM_MODULE_FILE,
           folder->path);
  snprintf(folder->host, sizeof(folder->host), "%s/" HOST_NAME, folder->path,
           strcmp(engine, "RocksDB") == 0 ? "rocksdb" : "leveldb");
  return symlink(module, folder->module) == 0 &&
         symlink(host, folder->host) == 0;
}

static void remove_folder(const struct private_folder* folder) {
  if (*folder->module == '\0') return;
  unlink(folder->module);
  unlink(folder->host);
  rmdir(folder->path);
}

/* True if the file is one that is loaded. */
static bool is_loaded(const char* path) {
  void* const handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle != NULL) dlclose(handle);
  return handle != NULL;
}

/* Opens the module `path` for the engine ("RocksDB") in the file `host`, which
 * is empty for the program itself. Returns null with the line. */
static void* open_module(const char* engine, const char* host, const char* path,
                         char* problem) {
  /* The symbols of a program are found without its file, so any file that is
   * loaded takes its place. */
  char own_file[PATH_MAX];
  const char* host_file = host;
  if (*host_file == '\0') {
    if (!find_own_file(own_file)) {
      deltabloom_refuse(problem, "cannot find the file of Deltabloom's loader");
      return NULL;
    }
    host_file = own_file;
  }
  char real_host[PATH_MAX];
  if (realpath(host_file, real_host) == NULL) {
    deltabloom_refuse(
        problem,
        "the file of its %s, %s, is not there any more (%s), and "
        "the module of Deltabloom has to name it: load Deltabloom "
        "before the file is deleted, or keep it",
        engine, host_file, strerror(errno));
    return NULL;
  }
  struct private_folder folder;
  if (!make_folder(&folder, engine, path, real_host)) {
    const int error = errno;
    remove_folder(&folder);
    deltabloom_refuse(problem, "cannot make a folder of links, %s: %s (TMPDIR)",
                      folder.path, strerror(error));
    return NULL;
  }
  if (!is_loaded(folder.host)) {
    remove_folder(&folder);
    deltabloom_refuse(
        problem,
        "the file %s is not the one that was loaded as its %s: it "
        "was replaced since; restart the program",
        host_file, engine);
    return NULL;
  }
  void* const handle = dlopen(folder.module, RTLD_NOW | RTLD_LOCAL);
  const char* const error = handle == NULL ? dlerror() : NULL;
  remove_folder(&folder);
  if (handle == NULL) {
    /* The text begins with the path of the link. */
    const char* const reason = strstr(error, ": ");
    deltabloom_refuse(problem, "%s does not load into %s: %s%s", path,
                      name_of(host), reason == NULL ? error : reason + 2,
                      strstr(error, "failed to map segment") == NULL
                          ? ""
                          : "; is its folder on a file system that is mounted "
                            "noexec?");
  }
  return handle;
}

static const void* begin_of(const void* address) {
  Dl_info object;
  return dladdr(address, &object) == 0 ? NULL : object.dli_fbase;
}

/* Opens the module and registers it. */
static enum deltabloom_load_result open_and_register(
    const struct deltabloom_host* host, const char* path, char* problem) {
  void* const handle = open_module("RocksDB", host->path, path, problem);
  if (handle == NULL) return DELTABLOOM_REFUSED;
  const struct deltabloom_module* const module =
      dlsym(handle, DELTABLOOM_MODULE_SYMBOL);
  if (module == NULL || module->interface != DELTABLOOM_MODULE_INTERFACE) {
    return deltabloom_refuse(
        problem,
        "%s is a module of another version of Deltabloom: build it "
        "again",
        path);
  }
  char* reason = NULL;
  if (!module->register_with_rocksdb(&reason)) {
    const char* const text = reason == NULL ? "out of memory" : reason;
    const char* const prefix = "deltabloom: ";
    deltabloom_refuse(problem, "%s: %s", path,
                      strncmp(text, prefix, strlen(prefix)) == 0
                          ? text + strlen(prefix)
                          : text);
    free(reason);
    return DELTABLOOM_REFUSED;
  }
  module->serve_environment();
  loaded = module;
  served = begin_of(host->version_function);
  return DELTABLOOM_LOADED;
}

static enum deltabloom_load_result load(const char* folder, char* problem) {
#if !defined(__linux__) || !defined(__GLIBC__) || \
    !(defined(__x86_64__) || defined(__aarch64__))
  (void)folder;
  return deltabloom_refuse(
      problem,
      "modules need Linux with glibc on x86-64 or aarch64; build "
      "Deltabloom into the program");
#else
  struct found found;
  memset(&found, 0, sizeof(found));
  deltabloom_for_each_host(note, &found);
  if (found.count == 0) {
    deltabloom_refuse(
        problem, "no RocksDB is loaded yet: load Deltabloom after RocksDB");
    return DELTABLOOM_NO_ROCKSDB;
  }
  const struct deltabloom_host* const host = &found.host;
  if (found.count > 1) {
    return deltabloom_refuse(
        problem,
        "it has more than one RocksDB, %s and %s, of which Deltabloom "
        "serves neither",
        name_of(host->path), name_of(found.other.path));
  }
  if (host->version_function == NULL) {
    return deltabloom_refuse(
        problem,
        "the RocksDB in %s hides its functions, which a module needs: "
        "link the program with -rdynamic, use a shared RocksDB, or "
        "build Deltabloom into it",
        name_of(host->path));
  }
  char version[32];
  deltabloom_host_version(host, version, sizeof(version));
  int major = 0;
  int minor = 0;
  sscanf(version, "%d.%d", &major, &minor);
  if (major < 7) {
    return deltabloom_refuse(
        problem,
        "its RocksDB %s (%s) is older than 7.0.3, the first that Deltabloom "
        "knows",
        version, name_of(host->path));
  }
  char name[64];
  snprintf(name, sizeof(name), "rocksdb-%d.%d-cxx11abi%d.so", major, minor,
           host->cxx11_abi);
  char path[PATH_MAX];
  char searched[DELTABLOOM_PROBLEM_SIZE / 2];
  if (!find_module(folder, name, path, searched, sizeof(searched))) {
    return deltabloom_refuse(
        problem,
        "there is no module for its RocksDB %s (%s): no %s in %s; "
        "make it from the sources of Deltabloom and the headers of "
        "RocksDB %d.%d: script/package modules --cxx11-abi %d HEADERS",
        version, name_of(host->path), name, searched, major, minor,
        host->cxx11_abi);
  }
  return open_and_register(host, path, problem);
#endif
}

enum deltabloom_load_result deltabloom_load_module(
    const char* folder, const struct deltabloom_module** module,
    char problem[DELTABLOOM_PROBLEM_SIZE]) {
  pthread_mutex_lock(&mutex);
  const enum deltabloom_load_result result =
      loaded == NULL ? load(folder, problem) : DELTABLOOM_LOADED;
  *module = loaded;
  pthread_mutex_unlock(&mutex);
  return result;
}

int deltabloom_serves(const void* function) {
  pthread_mutex_lock(&mutex);
  const int serves = served != NULL && begin_of(function) == served;
  pthread_mutex_unlock(&mutex);
  return serves;
}

void* deltabloom_open_module(const char* engine, const char* host,
                             const char* name,
                             char problem[DELTABLOOM_PROBLEM_SIZE]) {
  char path[PATH_MAX];
  char searched[DELTABLOOM_PROBLEM_SIZE / 2];
  if (find_module(NULL, name, path, searched, sizeof(searched))) {
    return open_module(engine, host, path, problem);
  }
  deltabloom_refuse(
      problem,
      "there is no module for its %s (%s): no %s in %s; build Deltabloom "
      "with %s and install it",
      engine, name_of(host), name, searched, engine);
  return NULL;
}
