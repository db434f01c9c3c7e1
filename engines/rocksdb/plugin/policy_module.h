// The services of a preloaded policy that the program does not ask for.
#pragma once

namespace rocksdb {
class FilterPolicy;
}  // namespace rocksdb

namespace deltabloom::internal {

// Prints errors in the text of a policy, and writes the file of
// DELTABLOOM_STATISTICS. It is called once, after the registration.
void ServeEnvironment() noexcept;

// Returns the bits per key of the filters that one of RocksDB's own policies
// builds in the last level; 0 if it builds none. REQUIRES: Register().
double BitsPerKeyOf(const rocksdb::FilterPolicy& policy);

}  // namespace deltabloom::internal
