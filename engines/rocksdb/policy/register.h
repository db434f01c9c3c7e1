// What the C interface and the plugin use of the C++ interface's parts.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_REGISTER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_REGISTER_H_

#include <memory>
#include <string>

#include "deltabloom/export.h"
#include "engines/rocksdb/policy/options.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/utilities/object_registry.h"

namespace deltabloom::internal {

// Adds the factories of policy, listener and prefix extractor to RocksDB's
// registry of objects. Returns their number. REQUIRES: LibraryProblem() is
// empty.
int AddFactories(rocksdb::ObjectLibrary& library);

// A policy that is ready for use. Registers as RegisterRocksDB() does. REQUIRES
// as AddFactories(), and that options.Validate() is empty. Throws
// std::bad_alloc.
std::unique_ptr<const rocksdb::FilterPolicy> MakePolicy(
    const PolicyOptions& options);

// Prints the line, and that there are no filters without it, to standard error;
// nothing if this process did so before. For callers that would not see the
// error otherwise. Thread-safe.
void PrintOnce(const char* line) noexcept;

}  // namespace deltabloom::internal

// Through this function RocksDB's own build registers a plugin
// (ROCKSDB_PLUGINS); the preloaded plugin exports no other name. Returns the
// number of factories added.
extern "C" DELTABLOOM_EXPORT int deltabloom_register(
    rocksdb::ObjectLibrary& library, const std::string& argument);

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_REGISTER_H_
