// Checks that a builder of a RocksDB that is newer than those compared with
// private_abi.h has the functions declared there. The check calls functions
// that may be others than the declared ones, so it is made for no other
// RocksDB: where the versions are equal, the declarations are known to be
// right.
#pragma once

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::internal {

// Returns whether the virtual table of the builder ends after the declared
// functions. Calls none of them. The class of the builder must add no virtual
// function of its own.
bool HasDeclaredFunctions(const rocksdb::FilterBitsBuilder& builder);

// Calls the functions of an empty builder with arguments that all of them take.
// Returns the name of the first one that is not the declared one, or null.
// CalculateSpace, EstimatedFpRate and ApproximateNumEntries are not told apart.
// A builder that has the declared functions in another order does no harm (on
// x86-64), but cannot be destroyed any more.
const char* WrongFunction(rocksdb::FilterBitsBuilder* builder);

}  // namespace deltabloom::internal
