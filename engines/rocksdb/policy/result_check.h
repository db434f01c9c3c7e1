// Checks that RocksDB's builders and readers do what private_abi.h declares, by
// their results.
#pragma once

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::internal {

// Calls every function of an empty builder of 9 to 30 bits per key but one
// Finish, and of the reader that `policy` makes of its filter. Returns what
// names the first one that does not return what is declared, or null. REQUIRES:
// the functions have the declared arguments.
const char* WrongResult(rocksdb::FilterBitsBuilder* builder,
                        const rocksdb::FilterPolicy& policy);

}  // namespace deltabloom::internal
