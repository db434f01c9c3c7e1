// A tree as it is on disk: its tables, the filters in them, and its sorted
// runs.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_TREE_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_TREE_H_

#include <rocksdb/db.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db_bench_ext/levels/rates.h"

namespace deltabloom::levels {

struct Table {
  uint64_t entries = 0;
  double begin = 0, end = 0;  // the part of the key space that it covers
  BuiltFilter filter;         // no bytes: none
  // What Deltabloom's own tables say of its filter (LayoutRow::rate), by which
  // the policy allocates bits; none of others' filters.
  std::optional<double> formula_rate;

  double share() const { return end - begin; }
};

// A table of level 0, or all tables of another level.
struct Run {
  int level = 0;
  std::vector<Table> tables;

  uint64_t Entries() const;
  uint64_t FilterKeys() const;
  uint64_t FilterBytes() const;
  // Of the lookups of keys anywhere in the key space, those that ask it.
  double Share() const;
};

struct Tree {
  std::vector<Run> runs;  // newest first

  uint64_t Entries() const;
  uint64_t FilterBytes() const;
  double BitsPerKey() const;  // of filters, over all entries
};

// What is in the tables of an open database. `kind_name` is the filter that its
// policy writes; for filters of Deltabloom their bytes say which layout they
// are. Throws std::runtime_error.
Tree ReadTree(rocksdb::DB* db, const std::string& kind_name);

// "L0:200 L1:2,000 ...": the entries of each run.
std::string DescribeRuns(const Tree& tree);

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_TREE_H_
