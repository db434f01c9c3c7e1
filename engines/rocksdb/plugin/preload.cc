// The library for LD_PRELOAD. It does not link RocksDB, as two versions in one
// process call each other's functions. It finds out which RocksDB the program
// runs with, and loads the policy, which links one, only if they are the same.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engines/rocksdb/plugin/find_rocksdb.h"

namespace {

using deltabloom::internal::LoadedRocksDB;

constexpr char kPolicyModule[] = "libdeltabloom_rocksdb_plugin_policy.so";

struct Found {
  bool ours = false;
  LoadedRocksDB other{};  // the first one; its path is null if there is none
};

void Note(const LoadedRocksDB& rocksdb, void* argument) {
  auto* const found = static_cast<Found*>(argument);
  if (rocksdb.soname != nullptr &&
      std::strcmp(rocksdb.soname, DELTABLOOM_ROCKSDB_SONAME) == 0) {
    found->ours = true;
  } else if (found->other.path == nullptr) {
    found->other = rocksdb;
  }
}

void Refuse(const LoadedRocksDB& rocksdb) {
  char program[4096];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
  std::strcpy(program + (size < 0 ? 0 : size), size < 0 ? "this program" : "");
  if (*rocksdb.path == '\0') {
    std::fprintf(stderr,
                 "deltabloom: no filters of Deltabloom in %s: it has a RocksDB "
                 "linked into it, which a preloaded plugin does not reach; use "
                 "a program that runs with %s, or build Deltabloom into this "
                 "one\n",
                 program, DELTABLOOM_ROCKSDB_SONAME);
  } else {
    std::fprintf(stderr,
                 "deltabloom: no filters of Deltabloom in %s: it runs with the "
                 "RocksDB in %s, and this plugin was built for %s; use one "
                 "that was built for the program's RocksDB\n",
                 program, rocksdb.path, DELTABLOOM_ROCKSDB_SONAME);
  }
}

// The policy is in the folder of this file.
void LoadPolicy() {
  Dl_info self;
  char path[PATH_MAX + sizeof(kPolicyModule)];
  // Its name may be a link, such as /proc/self/fd/3.
  if (dladdr(kPolicyModule, &self) == 0 ||
      realpath(self.dli_fname, path) == nullptr) {
    return;
  }
  std::strcpy(std::strrchr(path, '/') + 1, kPolicyModule);
  // RocksDB is initialised before the policy registers.
  if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::fprintf(stderr,
                 "deltabloom: no filters of Deltabloom: %s; install the plugin "
                 "with both of its files, as built for this RocksDB\n",
                 dlerror());
  }
}

__attribute__((constructor)) void Start() {
  Found found;
  deltabloom::internal::ForEachRocksDB(Note, &found);
  if (found.other.path != nullptr) {
    Refuse(found.other);
  } else if (found.ours) {
    LoadPolicy();
  }
}

}  // namespace
