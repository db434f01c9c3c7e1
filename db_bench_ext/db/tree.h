// A tree as it is on disk: its sorted runs, their tables and filters, and the
// data blocks that lookups are expected to read from it.
#ifndef DELTABLOOM_DB_BENCH_EXT_DB_TREE_H_
#define DELTABLOOM_DB_BENCH_EXT_DB_TREE_H_

#include <rocksdb/db.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deltabloom::db_reads {

struct Table {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  std::string smallest, largest;
  uint64_t filter_bytes = 0;  // 0: no filter
  uint64_t filter_keys = 0;
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
  double variance = 0;  // of the blocks of one lookup
  // Per lookup of a present key. None if a key may have several entries.
  std::optional<double> present;
};

// `absent` is a sample of the absent keys; the tree has `keys` present ones.
Prediction Predict(const Tree& tree, const std::vector<std::string>& absent,
                   uint64_t keys);

}  // namespace deltabloom::db_reads

#endif  // DELTABLOOM_DB_BENCH_EXT_DB_TREE_H_
