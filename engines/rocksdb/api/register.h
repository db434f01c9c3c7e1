// The registration of policy, listener and range collector with RocksDB, under
// the names that OPTIONS files have for them.
#pragma once

#include "rocksdb/utilities/object_registry.h"

namespace deltabloom::internal {

// Adds the factories; returns their number. REQUIRES: LibraryProblem() is
// empty.
int AddFactories(rocksdb::ObjectLibrary& library);

// Adds them to RocksDB's default library, once in a process. Returns true.
// Throws std::runtime_error if the loaded RocksDB library does not fit.
bool Register();

}  // namespace deltabloom::internal
