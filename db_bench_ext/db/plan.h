// The trees that databases are given: settled ones, whose sorted runs have
// exactly the planned keys, and grown ones, which RocksDB's own compactions
// make of a history of writes.
#ifndef DELTABLOOM_DB_BENCH_EXT_DB_PLAN_H_
#define DELTABLOOM_DB_BENCH_EXT_DB_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::db_reads {

// The writes from which a tree grows: of ten, this many insert a new key, this
// many delete a key, and the others write a key again.
struct Growth {
  const char* name;  // "insert", "overwrite", "delete", "mixed"
  unsigned inserts;
  unsigned deletes;
};

// Throws UsageError. Null for "settled".
const Growth* FindGrowth(const std::string& name);

// A sorted run of a settled tree. Runs of level 0 have one table each.
struct RunPlan {
  int level = 0;
  uint64_t keys = 0;
};

struct TreePlan {
  std::string name;
  uint64_t keys = 0;               // or writes of a tree that grows
  std::vector<RunPlan> runs;       // of a settled tree, oldest first
  const Growth* growth = nullptr;  // null: settled
  unsigned levels = 5;             // of a grown tree, level 0 included
  unsigned size_ratio = 10;        // of a grown tree
  bool partitioned = false;        // filters and index
};

// Five runs: three levels, each ten times as large as the one above, and two
// small tables of level 0.
TreePlan DemoTree(uint64_t keys);

// All keys in one table of the last level.
TreePlan OneTable(uint64_t keys, bool partitioned);

// Settled: `runs` levels, each size_ratio times as large as the one above; the
// smallest is one table of level 0. Throws UsageError if there are too few
// keys, or less than three levels to grow.
TreePlan LevelsTree(const Growth* growth, unsigned runs, unsigned size_ratio,
                    uint64_t keys);

// The writes of a tree that grows. New keys come in random order, because keys
// are spread evenly by their numbers.
class History {
 public:
  struct Write {
    uint64_t key = 0;
    bool remove = false;
  };

  History(const Growth& growth, uint64_t seed)
      : growth_(growth), random_(seed) {}

  Write Next();

  // The numbers of the keys that exist after the writes so far.
  std::vector<uint64_t> Present() const;

 private:
  const Growth growth_;
  bench::MixedNumbers random_;
  std::vector<bool> exists_;  // by number of key
};

}  // namespace deltabloom::db_reads

#endif  // DELTABLOOM_DB_BENCH_EXT_DB_PLAN_H_
