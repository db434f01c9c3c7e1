// The bits per key and the layout of the filter of a table under
// allocation=levels: what a policy asks for each table that is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/filter_policy.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

struct LevelBits {
  const LayoutRow* layout = nullptr;
  uint32_t millibits_per_key = 0;
  // The rate of the filter, from which its bits follow; 0 if unset.
  double false_positive_rate = 0;
};

struct LevelChoice {
  LevelBits bits;
  // Why bits are uniform: no listener announced the table, or its tree is not
  // known yet.
  bool no_listener = false;
  bool no_tree = false;
  // If the bits of a level changed much, or filter_memory has a problem; one
  // line each.
  std::string log_line;
};

// The bits that all tables of a level get under allocation=uniform, or where
// their tree is not known.
LevelBits UniformBitsFor(const PolicyOptions& options, int level);

// The bits of the table whose builder this thread is about to make. Throws
// std::bad_alloc.
LevelChoice ChooseByLevel(Process* process, const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context,
                          const std::shared_ptr<PolicyStatistics>& statistics);

// The bits and layout of a table in a tree with a target.
LevelBits BitsOfTable(const TreeBits& tree, const NewTable& table,
                      Layout layout);

// Returns the bits of the table under the target that the options give the
// tree, which is *family->bits, one of *trees. The layout is null if the tree
// is empty and bits follow from a rate. Sets *problem if filter_memory cannot
// be kept.
LevelBits BitsInTree(const PolicyOptions& options, const NewTable& table,
                     DatabaseTrees* trees, FamilyTree* family,
                     std::string* problem);

// The problem with a policy of filter_memory in a database without its
// listener; empty if there is none. A process that has made the listener may
// leave it out, as programs that open checkpoints and backups with the
// listeners cleared: tables get UniformBitsFor().
std::string MemoryProblem(const Process& process, const rocksdb::DBOptions& db,
                          uint64_t filter_memory);

}  // namespace deltabloom::internal
