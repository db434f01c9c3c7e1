// The bits per key of one table's filter under allocation=levels, and what the
// allocation does, as JSON.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVEL_BITS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVEL_BITS_H_

#include <cstdint>
#include <memory>
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

// The bits that all tables of a level get under allocation=uniform, or where
// their tree is not known.
LevelBits UniformBitsFor(const PolicyOptions& options, int level);

// The bits of the table whose builder this thread is about to make. Throws
// std::bad_alloc.
LevelChoice ChooseByLevel(const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context,
                          const std::shared_ptr<PolicyStatistics>& statistics);

// The bits and layout of a table in a tree with a target.
LevelBits BitsOfTable(const TreeBits& tree, const NewTable& table,
                      Layout layout);

// The same with the target that the options give the tree, which is
// *family->bits, one of *trees. The table's compaction has written filters of
// written_bits already. The layout is null if the tree is empty and bits follow
// from a rate. Sets *problem if filter_memory cannot be kept.
LevelBits BitsInTree(const PolicyOptions& options, const NewTable& table,
                     double written_bits, DatabaseTrees* trees,
                     FamilyTree* family, std::string* problem);

// What is wrong with filter_memory in DB::Open, which validates its column
// families one after the other, on one thread; empty if nothing is. Families
// with different totals are refused until EndOfValidation(), which is called
// when DB::Open writes the options.
std::string MemoryConflict(const rocksdb::DBOptions& db,
                           uint64_t filter_memory);
void EndOfValidation();

// RocksDBFilterLevelsJson() and RocksDBFilterLevelsPrometheus() of
// deltabloom/rocksdb.h.
std::string LevelsJson();
std::string LevelsPrometheus();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_LEVEL_BITS_H_
