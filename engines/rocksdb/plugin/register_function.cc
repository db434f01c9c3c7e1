// The function through which RocksDB's own build registers a plugin
// (ROCKSDB_PLUGINS), and the only name that the preloaded plugin exports.
#include <cstdio>
#include <exception>
#include <string>

#include "deltabloom/export.h"
#include "engines/rocksdb/policy/library_check.h"
#include "engines/rocksdb/policy/register.h"

extern "C" DELTABLOOM_EXPORT int deltabloom_register(
    ROCKSDB_NAMESPACE::ObjectLibrary& library, const std::string& argument);

// Returns the number of factories added.
int deltabloom_register(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                        const std::string& /*argument*/) {
  try {
    const std::string& problem = deltabloom::internal::LibraryProblem();
    if (problem.empty()) return deltabloom::internal::AddFactories(library);
    std::fprintf(stderr, "%s\n", problem.c_str());
  } catch (const std::exception&) {
    std::fputs("deltabloom: out of memory, not registered\n", stderr);
  }
  return 0;
}
