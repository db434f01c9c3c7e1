// Whether the RocksDB library that is loaded fits the headers compiled against.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_LIBRARY_CHECK_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_LIBRARY_CHECK_H_

#include <string>
#include <string_view>

namespace deltabloom::internal {

// The version of the headers, as in "7.8.3".
std::string HeadersVersion();

// Each is empty when all is well, else one line: what is wrong, what to do.

// The loaded library must have the major and minor version of the headers: the
// fields of BlockBasedTableOptions move between minor versions. In 9.6 it must
// also have the same shape of FilterBitsBuilder.
std::string VersionProblem(std::string_view loaded_version);

// Builds and reads a filter of RocksDB's own through private_abi.h.
std::string SelfCheckProblem();

// Both checks on the loaded library, made once, before anything else is called.
const std::string& LibraryProblem();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_LIBRARY_CHECK_H_
