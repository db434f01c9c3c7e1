// The function through which RocksDB's own build registers a plugin
// (ROCKSDB_PLUGINS), and the only name that the preloaded plugin exports.
#include <cstdio>
#include <string>

#include "deltabloom/export.h"
#include "engines/rocksdb/library_check.h"
#include "engines/rocksdb/register.h"

extern "C" DELTABLOOM_EXPORT int deltabloom_register(
    ROCKSDB_NAMESPACE::ObjectLibrary& library, const std::string& argument);

// Returns the number of factories added.
int deltabloom_register(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                        const std::string& /*argument*/) {
  const std::string& problem = deltabloom::internal::LibraryProblem();
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return 0;
  }
  return deltabloom::internal::AddFactories(library);
}
