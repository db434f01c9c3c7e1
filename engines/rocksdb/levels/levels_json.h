// What allocation=levels does, as JSON.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVELS_JSON_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVELS_JSON_H_

#include <string>

namespace deltabloom::internal {

// See RocksDBFilterLevelsJson() in deltabloom/rocksdb.h.
std::string LevelsJson();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVELS_JSON_H_
