// The policy, and checks of the loaded RocksDB library.
#pragma once

#include <memory>
#include <string>

#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "rocksdb/filter_policy.h"

namespace deltabloom::internal {

// A policy from a URI that may hold an error. RocksDB drops errors where it
// parses table options, so the policy is refused when it is prepared or
// validated. REQUIRES: LibraryProblem() is empty. Throws std::bad_alloc.
std::unique_ptr<const rocksdb::FilterPolicy> NewPolicy(Process* process,
                                                       const std::string& uri);
// A policy that is ready for use. REQUIRES: LibraryProblem() is empty, and the
// options are valid. Throws std::bad_alloc.
std::unique_ptr<const rocksdb::FilterPolicy> NewPolicy(
    Process* process, const PolicyOptions& options);

// Returns the version of the headers, as in "7.8.3".
std::string HeadersVersion();

// Each of these returns an empty string, or one line that says what is wrong
// and what to do.

// The loaded library must have the major and minor version of the headers: the
// fields of BlockBasedTableOptions move between minor versions. In 9.6 it must
// also have the same shape of FilterBitsBuilder.
std::string VersionProblem(const std::string& loaded);

// Checks the version, and that three kinds of RocksDB's own filters can be
// built and read through private_abi.h. Done once, before anything else is
// called.
const std::string& LibraryProblem();

}  // namespace deltabloom::internal
