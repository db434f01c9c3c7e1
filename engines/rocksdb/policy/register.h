// The factory of the policy in RocksDB's registry of objects.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_REGISTER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_REGISTER_H_

#include "rocksdb/utilities/object_registry.h"

namespace deltabloom::internal {

// Returns the number of factories added. Requires LibraryProblem() empty.
int AddFactories(ROCKSDB_NAMESPACE::ObjectLibrary& library);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_REGISTER_H_
