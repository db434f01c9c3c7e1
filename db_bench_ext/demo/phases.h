// The preset `phases`: loads as those of YCSB, one after the other on a tree
// that RocksDB's own compactions make.
#pragma once

#include <cstdint>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {

struct PhaseResult {
  const char* name;  // "load", "hits", "misses", "compacted"
  Tree tree;         // at the end of the phase
  Counts counts;     // of the lookups in it
};

// Runs the phases: all keys are inserted, and absent ones looked up; then half
// of the operations overwrite keys, and 99 % of the others look up present
// ones; once RocksDB is idle again, absent keys are looked up; and once more
// after CompactRange and 1 % more overwrites. `lookups` are of each phase.
// The keys of the database are those of KeysThenAgain(). Throws
// std::runtime_error.
std::vector<PhaseResult> RunPhases(const KeySet& keys, uint64_t lookups,
                                   Database* database,
                                   bench::ProgressBar* progress);

}  // namespace deltabloom::demo
