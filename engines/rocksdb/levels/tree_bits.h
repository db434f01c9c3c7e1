// The tree of one column family as its files show it, and the bits per key of a
// filter that is written into it under allocation=levels.
//
// The rule (docs/design.md has an example with numbers): the optimiser
// (util/rates/allocation.h) distributes the average that was set over the runs
// of the full tree (full_tree.h). A table gets the bits of its run there, but
// not more than the average as far as the filters on disk would exceed it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engines/rocksdb/levels/full_tree.h"
#include "util/rates/allocation.h"

namespace deltabloom::internal {

// The share of lookups that query a run for keys that it does not hold, by
// origin; 1 for origins without a value.
using RunUse = std::map<int, double>;

// A run that a smaller share of lookups than this queries needs no filter of
// its own: even without one it adds less than a read to a thousand lookups.
inline constexpr double kNeededUse = 0.001;

// Filters on disk may exceed the average that is planned by this part of it,
// which upper levels get where RocksDB moved tables into the last run as they
// were. With 0 lookups have 1.14 times the false positives, without a limit
// sequential loads take 13 bits of 10 (docs/measurements.md).
inline constexpr double kMostExcess = 0.03;

// The origin of a table: the level that it was written for (0 for flushes), or
// one of these. A table is bottommost if there was no older data of its key
// range below it.
inline constexpr int kUnknownOrigin = -1;
inline constexpr int kBottommost = 1 << 20;

// "flush", "level 5" or "last run".
std::string NameOfOrigin(int origin);

struct TableFacts {
  uint64_t keys = 0;        // in its filter, or in the table without one
  double filter_bits = -1;  // of the whole filter; negative: unknown
  int origin = kUnknownOrigin;
  double tree_keys = 0;  // of the whole tree when it was written; 0: unknown
};

struct FileSums {
  uint64_t files = 0;
  double keys = 0;
  double dated_keys = 0;    // of files whose tree_keys are known
  double tree_keys = 0;     // of each such file, times its keys
  double known_bits = 0;    // of filters
  double unknown_keys = 0;  // of files with unknown filters

  void Add(const TableFacts& facts, bool add = true);
  void Add(const FileSums& other);
  double FilterBits(double bits_of_unknown) const {
    return known_bits + bits_of_unknown * unknown_keys;
  }
};

struct LiveTable {
  uint64_t file;
  int level;
  uint64_t keys;  // used where no facts are known; 0: unknown
};

struct Compaction {
  std::string family;  // the name of its column family
  std::vector<uint64_t> inputs;
  FileSums read;
  FileSums written;
  bool manual = false;
  // DB::CompactFiles, which has no events: `read` is the level that it writes
  // to, or the whole tree.
  bool silent = false;
  uint64_t last_output = 0;

  // Bits already written that will replace bits of the inputs, which exist
  // until it ends.
  double BitsInPlace(double bits_of_unknown) const {
    if (!(read.keys > 0)) return 0;
    const double part = std::min(written.keys / read.keys, 1.0);
    return std::min(part * read.FilterBits(bits_of_unknown),
                    written.known_bits);
  }
};

struct NewTable {
  int level = 0;
  bool bottommost = false;
  // Its compaction writes a whole run, as universal ones do; else it merges
  // into a level.
  bool whole_run = false;
  const Compaction* compaction = nullptr;  // null for a flush, or if unknown

  int Origin() const { return bottommost ? kBottommost : level; }
  // 0 for a flush, or if unknown.
  double KeysRead() const {
    return compaction && !compaction->silent ? compaction->read.keys : 0;
  }
};

struct TableBits {
  double bits_per_key = 0;
  double share = 1;  // keys of its run / keys of the tree
};

// The option from which the average bits per key follow.
enum class BitsGoal {
  kAverage,  // bits_per_key: filters on disk keep it
  kTotal,    // filter_memory: filters on disk keep the total instead
  kRate,     // false_positive_rate: filters may take what it needs
};

// A level that is not empty, or a file of level 0.
struct TreeRun {
  int level = 0;
  uint64_t files = 0;
  double keys = 0;
  double filter_bits = 0;  // with the average for unknown filters
};

// Not thread-safe. No function but SetTree() visits files that it is not given.
class TreeBits {
 public:
  struct File {
    int level = -1;  // not in the tree
    TableFacts facts;
  };

  // The facts of a table. It counts once it is in the tree.
  void Learn(uint64_t file, const TableFacts& facts);
  // A new file if it is unknown.
  File Find(uint64_t file) const;
  void Forget(uint64_t file);
  void Flushed(uint64_t keys);
  // The keys of the next flush, at most; used as long as none is known.
  void ExpectFlush(uint64_t keys) { expected_ = static_cast<double>(keys); }

  void SetTree(const std::vector<LiveTable>& tables);
  void Edit(const std::vector<uint64_t>& removed,
            const std::vector<LiveTable>& added);

  void SetLimits(const TreeLimits& limits) { limits_ = limits; }
  const TreeLimits& limits() const { return limits_; }

  // Weights, and the least bits per key of a run while there are any.
  void SetUse(const RunUse& use, double min_bits);
  // Returns how many filters of each origin a lookup queries if no run has its
  // key.
  std::map<int, double> Weights() const;

  // Set before BitsFor() is called.
  void SetAverage(double bits_per_key, BitsGoal goal);
  // The bits of a table: the average as long as nothing is known.
  TableBits BitsFor(const NewTable& table, const RateCurve& curve) const;
  // The most bits per key that a table may have while `free` bits are left:
  // those of the tables that it replaces, and besides all that is free.
  double MostBits(const NewTable& table, double free,
                  double bits_of_unknown) const;
  // The runs of the full tree, weighted by use.
  std::vector<SortedRun> PlannedRuns() const;

  // The average over all filters on disk; unknown ones count with the average
  // that is set.
  double AverageBits() const;

  // The runs from the top of the tree, without some files. Unknown filters
  // count with the average. Level 0 has its newest kMostFilesOfLevel0 files
  // only.
  std::vector<TreeRun> Runs(const std::vector<uint64_t>& without = {}) const;
  static constexpr size_t kMostFilesOfLevel0 = 100;

  // The sums over the tables of a level, or of the tree if it is negative.
  FileSums Sums(int level = -1) const;
  // The filters of the tree, and those that are written but not in it yet.
  double FilterBits(double bits_of_unknown) const {
    return pending_bits_ + Sums().FilterBits(bits_of_unknown);
  }

  double keys() const { return keys_; }
  // Keys expected until the last run is written again: as many as came since it
  // was last written, on average over its tables. None where an operator
  // rewrites it, nor for smaller runs of universal compaction, which are
  // written again before it.
  double KeysToCome(const NewTable& table) const;
  // Moving average of the keys of a flush; at least 1.
  double flush_keys() const {
    return std::max(flush_keys_ > 0 ? flush_keys_ : expected_, 1.0);
  }
  size_t files() const { return files_.size(); }

 private:
  void Count(uint64_t number, const File& file, bool add);
  double UseOf(int origin) const;
  // Returns whether lookups need the filters of the runs of this origin.
  bool IsNeeded(int origin) const;
  // The least bits per key of a run that lookups do not need.
  double LeastBits() const;
  // The levels as they are.
  std::map<int, LevelRuns> Levels() const;
  // The full tree once the compaction of the table has ended.
  FullTree PlanWith(const NewTable& table) const;
  SortedRun Weighted(int origin, const LevelRuns& runs) const;
  std::vector<SortedRun> RunsOf(const FullTree& tree) const;
  double PlannedAverage(const std::vector<SortedRun>& runs,
                        const RateCurve& curve) const;
  double FreeBits(const NewTable& table) const;
  TableBits BitsOfWholeRun(const NewTable& table, const RateCurve& curve) const;
  double KeysIn(int level) const { return Sums(level).keys; }
  int DeepestLevel() const;

  std::unordered_map<uint64_t, File> files_;
  // Sums over the files of the tree, by level and origin.
  std::map<std::pair<int, int>, FileSums> groups_;
  std::set<uint64_t, std::greater<uint64_t>> level0_;  // newest first
  double keys_ = 0;          // of the files in the tree
  double flush_keys_ = 0;    // moving average
  double expected_ = 0;      // keys of the first flush
  double pending_bits_ = 0;  // of files that are not in the tree
  TreeLimits limits_;
  RunUse use_;
  double min_bits_ = 0;
  double average_ = 0;
  BitsGoal goal_ = BitsGoal::kAverage;
};

}  // namespace deltabloom::internal
