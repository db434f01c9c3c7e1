// The keys of a database; the sorted runs that it is brought to; and its tree
// as it is on disk, with the data blocks that lookups are expected to read from
// it.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::demo {

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

  // The value that is stored under a key.
  static std::string Value(std::string_view key, size_t bytes);

 private:
  uint64_t size_;
  uint64_t seed_;
};

// A planned sorted run. Runs of level 0 have one table each.
struct RunPlan {
  int level = 0;
  uint64_t keys = 0;
};

struct TreePlan {
  std::string name;
  uint64_t keys = 0;
  std::vector<RunPlan> runs;  // oldest first
  bool partitioned = false;   // filters and index
};

// Five runs: three levels, each ten times as large as the one above, and two
// small tables of level 0.
TreePlan DemoTree(uint64_t keys);

// The tree of DemoTree(), with partitioned filters and index if `partitioned`.
TreePlan LoadingTree(uint64_t keys, bool partitioned);

// All keys in one table of the last level.
TreePlan OneTable(uint64_t keys, bool partitioned);

struct Table {
  std::string name;  // of the file, as RocksDB spells it
  uint64_t entries = 0;
  uint64_t bytes = 0;
  std::string smallest, largest;
  uint64_t filter_bytes = 0;  // 0: no filter
  uint64_t filter_keys = 0;
  uint64_t index_bytes = 0;
  // The expected false-positive rate of the filter, 1 without one; none where
  // the rate is not known.
  std::optional<double> rate = 1;
};

// One table of level 0, or all tables of another level.
struct Run {
  int level = 0;
  std::vector<Table> tables;

  uint64_t Sum(uint64_t Table::*field) const;
};

struct Tree {
  std::vector<Run> runs;  // newest first

  uint64_t Sum(uint64_t Table::*field) const;
  double BitsPerKey() const;  // stored, over all entries
};

// Throws std::runtime_error.
Tree ReadTree(rocksdb::DB* db);

// Data blocks per lookup of an absent key, by the rates of the filters.
struct Prediction {
  std::vector<double>
      shares;  // of these lookups, that ask a filter of each run
  std::optional<double> absent;
  double variance = 0;            // of the blocks of one lookup
  std::optional<double> present;  // per lookup of a present key
};

// `absent` is a sample of the absent keys.
Prediction Predict(const Tree& tree, const std::vector<std::string>& absent);

}  // namespace deltabloom::demo
