// The bits per key of one table's filter under allocation=levels, and what the
// allocation does, as JSON.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVEL_BITS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVEL_BITS_H_

#include <cstdint>
#include <string>

#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/policy/options.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

struct LevelBits {
  const LayoutRow* layout = nullptr;
  uint32_t millibits_per_key = 0;
  // If not 0, the rate of the filter, from which its bits follow.
  double false_positive_rate = 0;
};

struct LevelChoice {
  LevelBits bits;
  // No listener announced the table, so its bits are uniform.
  bool no_listener = false;
  std::string log_line;  // if the bits of a level changed much; else empty
};

// The bits that all tables of a level get under allocation=uniform.
LevelBits UniformBitsFor(const PolicyOptions& options, int level);

// The bits of the table whose builder this thread is about to make. Throws
// std::bad_alloc.
LevelChoice ChooseByLevel(const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context);

// The bits and layout of a table in a tree with a target.
LevelBits BitsOfTable(const TreeBits& tree, const NewTable& table,
                      Layout layout);

// RocksDBFilterLevelsJson() of deltabloom/rocksdb.h.
std::string LevelsJson();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVEL_BITS_H_
