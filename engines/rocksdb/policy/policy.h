// The policy as RocksDB sees it, and its registration.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_

#include <memory>
#include <string>

#include "engines/rocksdb/policy/options.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/utilities/object_registry.h"

namespace deltabloom::internal {

// Called with every error in the text of a policy, if set. For programs that
// drop the Status and go on without a filter.
using ErrorReporter = void (*)(const std::string& line);
void SetErrorReporter(ErrorReporter reporter);

// A policy for RocksDB to configure, from a URI that may hold an error: RocksDB
// drops such errors where it parses table options, so the policy is refused
// later, when it is prepared or validated. REQUIRES: LibraryProblem() is empty.
// Throws std::bad_alloc, as the next.
std::unique_ptr<const rocksdb::FilterPolicy> NewPolicy(const std::string& uri);
// A policy that is ready for use. REQUIRES: also that options.Validate() is
// empty.
std::unique_ptr<const rocksdb::FilterPolicy> NewPolicy(
    const PolicyOptions& options);

// Adds the factories of policy, listener and prefix extractor to RocksDB's
// registry of objects. Returns their number. REQUIRES: LibraryProblem() is
// empty.
int AddFactories(rocksdb::ObjectLibrary& library);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_POLICY_H_
