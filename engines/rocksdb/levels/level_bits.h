// What one table's filter gets under allocation=levels.
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
  // Not 0: the rate of the filter, from which its bits follow.
  double false_positive_rate = 0;
};

struct LevelChoice {
  LevelBits bits;
  bool no_listener = false;  // told of this table: bits are uniform
  std::string log_line;      // empty unless there is news
};

// What all tables of a level get alike.
LevelBits UniformBitsFor(const PolicyOptions& options, int level);

// For the table whose builder this thread is asked for. Throws std::bad_alloc.
LevelChoice ChooseByLevel(
    const PolicyOptions& options,
    const ROCKSDB_NAMESPACE::FilterBuildingContext& context);

// What a table gets in a tree whose average is asked for, and as which layout.
LevelBits BitsOf(const TreeBits& tree, const NewTable& table, Layout layout);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVEL_BITS_H_
