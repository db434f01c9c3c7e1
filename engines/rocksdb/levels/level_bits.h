// Chooses the bits per key and the layout of a table's filter under
// allocation=levels. A policy asks for them for each table that is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

struct LevelBits {
  const LayoutRow* layout = nullptr;
  uint32_t millibits_per_key = 0;
  // If not 0, the bits of the filter follow from this rate instead.
  double false_positive_rate = 0;
};

struct LevelChoice {
  LevelBits bits;
  // Why bits are uniform: no listener has announced the table, or its tree is
  // not known yet. Both are false for tables of SstFileWriter, and where
  // BitsInTree() returns none, whose bits are uniform, too.
  bool no_listener = false;
  bool no_tree = false;
  // One line for the LOG if the bits of a level have changed much, and one if
  // filter_memory has a new problem.
  std::string log_line;
};

// Returns the bits that all tables of a level get under allocation=uniform, or
// if their tree is not known.
LevelBits UniformBitsFor(const PolicyOptions& options, int level);

// Returns the bits of the table whose builder this thread is about to make.
// Throws std::bad_alloc.
LevelChoice ChooseByLevel(Process* process, const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context,
                          const std::shared_ptr<PolicyStatistics>& statistics);

// The bits per key that a table may have, whatever is planned for it. If both
// contradict each other, `least` counts.
struct BitsLimits {
  double least = 0;
  double most = kMaxBitsPerKey;
};

// Returns the bits and the layout of a table. REQUIRES: SetGoal() and
// SetAverage() were called.
LevelBits BitsOfTable(const TreeBits& tree, const NewTable& table,
                      Layout layout, const BitsLimits& limits = {});

// Sets the average of a column family, which is one of *trees, as the options
// have it, and returns the bits of the table. The layout is null if the average
// is less than a filter can have, or if the tree is empty and the options have
// a rate. Sets *problem to what keeps filter_memory from being kept, or empties
// it.
LevelBits BitsInTree(const PolicyOptions& options, const NewTable& table,
                     DatabaseTrees* trees, FamilyTree* family,
                     std::string* problem);

// Returns the problem with a policy that has filter_memory in a database
// without the listener; an empty string if there is no problem. A process that
// has made a listener may leave it out of some databases, as programs do that
// open checkpoints and backups with the listeners cleared: tables then get
// UniformBitsFor().
std::string MemoryProblem(const Process& process, const rocksdb::DBOptions& db,
                          uint64_t filter_memory);

}  // namespace deltabloom::internal
