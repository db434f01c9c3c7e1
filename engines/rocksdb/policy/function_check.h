// Whether RocksDB's builders and readers have the functions that private_abi.h
// declares. A library whose classes have others is told by calling them, so the
// first calls are made such that they do no harm then.
#pragma once

#include <memory>

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::internal {

// Whether the virtual table of the builder, whose class adds no virtual
// function of its own, ends after the declared functions. Calls none of them.
bool HasDeclaredFunctions(const rocksdb::FilterBitsBuilder& builder);

// Calls every function of an empty builder of 9 to 30 bits per key, and of the
// reader that `policy` makes of its filter. Returns what names the first one
// that does not do what is declared, or null. A builder that has the declared
// functions in another order does no harm (on x86-64).
const char* WrongFunction(std::unique_ptr<rocksdb::FilterBitsBuilder> builder,
                          const rocksdb::FilterPolicy& policy);

}  // namespace deltabloom::internal
