// The listener by which allocation=levels learns the trees of databases.
#pragma once

#include <memory>
#include <vector>

#include "engines/rocksdb/base/process.h"
#include "rocksdb/listener.h"

namespace deltabloom::internal {

// Returns a listener. It has no state of its own, so any number of them may
// listen to a database. Its functions do not throw. Throws std::bad_alloc.
std::unique_ptr<rocksdb::EventListener> NewTreeListener(Process* process);
// Returns whether one of the listeners is made by NewTreeListener().
bool HasTreeListener(
    const std::vector<std::shared_ptr<rocksdb::EventListener>>& listeners);

}  // namespace deltabloom::internal
