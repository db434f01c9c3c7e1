// Whether the loaded RocksDB library fits the headers that Deltabloom was
// compiled with, and behaves as it needs.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_LIBRARY_CHECK_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_LIBRARY_CHECK_H_

#include <string>

namespace deltabloom::internal {

// The version of the headers, as in "7.8.3".
std::string HeadersVersion();

// Each of these returns an empty string, or one line that says what is wrong
// and what to do.

// The loaded library must have the major and minor version of the headers: the
// fields of BlockBasedTableOptions move between minor versions. In 9.6 it must
// also have the same shape of FilterBitsBuilder.
std::string VersionProblem(const std::string& loaded);

// Checks the version, and that a filter of RocksDB's own can be built and read
// through private_abi.h. Done once, before anything else is called.
const std::string& LibraryProblem();

// Whether the loaded library passes the bounds of a seek to filters, full and
// partitioned ones, as ranges.h says; if not, no range part is written or
// queried. Checked once, with tables in memory. Throws std::bad_alloc.
const std::string& RangeProblem();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_LIBRARY_CHECK_H_
