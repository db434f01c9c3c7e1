// Checks that RocksDB's builders and readers have the functions that
// private_abi.h declares. The check calls these functions. A library may have
// other ones in their places, so the first calls are chosen such that they do
// no harm then.
#pragma once

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::internal {

// Returns whether the virtual table of the builder ends after the declared
// functions. Calls none of them. The class of the builder must add no virtual
// function of its own.
bool HasDeclaredFunctions(const rocksdb::FilterBitsBuilder& builder);

// Calls every function of an empty builder of 9 to 30 bits per key, and of the
// reader that `policy` makes of its filter. Returns what names the first one
// that does not do what is declared, or null. A builder that has the declared
// functions in another order does no harm (on x86-64), but cannot be destroyed
// any more.
const char* WrongFunction(rocksdb::FilterBitsBuilder* builder,
                          const rocksdb::FilterPolicy& policy);

}  // namespace deltabloom::internal
