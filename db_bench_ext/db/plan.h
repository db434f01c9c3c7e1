// The keys of a database, and its tree: a settled one, whose sorted runs have
// exactly the planned keys, or a grown one, which RocksDB's own compactions
// make of a history of writes.
#ifndef DELTABLOOM_DB_BENCH_EXT_DB_PLAN_H_
#define DELTABLOOM_DB_BENCH_EXT_DB_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::db_reads {

// 16 bytes each, computed from their numbers and a seed, so that no key is
// stored.
class KeySet {
 public:
  // REQUIRES: 0 < size < 2^40.
  KeySet(uint64_t size, uint64_t seed) : size_(size), seed_(seed) {}

  uint64_t size() const { return size_; }
  uint64_t seed() const { return seed_; }

  // Key number i: a mixed number, which spreads keys evenly over the key space,
  // and i itself.
  std::string Key(uint64_t i) const;

  // A key outside the set, a different one for every j < 2^40.
  std::string AbsentKey(uint64_t j) const;

  // The end of a range from `key` on that contains a key of the set with a
  // chance of 1/64.
  std::string RangeEnd(std::string_view key) const;

  // The value that is stored under a key.
  static std::string Value(std::string_view key, size_t bytes);

 private:
  uint64_t size_;
  uint64_t seed_;
};

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
