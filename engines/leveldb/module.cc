// A module for LevelDB: its policy in a shared object whose undefined symbols
// of LevelDB are found in the program or library that has it, as those of a
// module for RocksDB (engines/rocksdb/plugin/module.h).
#include <leveldb/filter_policy.h>
#include <leveldb/status.h>

#include <exception>
#include <string>

#include "deltabloom/export.h"
#include "deltabloom/leveldb.h"
#include "util/c_error.h"

extern "C" {

// Returns a new leveldb::FilterPolicy with the filters of
// leveldb::NewBloomFilterPolicy, or null with *error, which free() frees.
DELTABLOOM_EXPORT void* deltabloom_leveldb_policy(int bits_per_key,
                                                  char** error);
void* deltabloom_leveldb_policy(int bits_per_key, char** error) {
  try {
    std::string problem;
    auto policy =
        deltabloom::NewLevelDBBloomFilterPolicy(bits_per_key, &problem);
    if (policy == nullptr) deltabloom::internal::SetError(error, problem, {});
    return const_cast<leveldb::FilterPolicy*>(policy.release());
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // extern "C"

// Has another name with another ABI of std::string: then the module does not
// load.
[[gnu::used]] static const auto needed = &leveldb::Status::ToString;
