// The bits per key of a filter that is written into a tree under
// allocation=levels.
//
// The rule is (docs/design.md has an example with numbers): the optimiser
// (util/rates/allocation.h) distributes the average over the runs of the full
// tree (full_tree.h). A table gets the bits of its run there; what is more than
// the average it gets only as far as filters on disk stay within their limit.
// Whole runs, as of universal compaction, have a rule of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engines/rocksdb/levels/full_tree.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "util/rates/allocation.h"

namespace deltabloom::internal {

// Maps an origin to the share of lookups that query a run for keys that it does
// not hold. Origins without a value have the share 1.
using RunUse = std::map<int, double>;

// A run that a smaller share of lookups than this queries needs no filter of
// its own: even without one it adds less than a read to a thousand lookups. If
// such runs kept their bits, filters would have 9.1 bits per key instead of 5
// where all lookups hit (docs/measurements.md).
inline constexpr double kNeededUse = 0.001;

// Filters on disk may exceed the average that is planned by this part of it.
// Users are promised this limit (docs/levels.md): more would save reads, but
// take memory beyond what was set. Upper levels need it where RocksDB moved
// tables into the last run without writing them anew. With 0 lookups have 1.13
// times as many false positives; without a limit sequential loads have 13 bits
// per key instead of 10 (docs/measurements.md).
inline constexpr double kMostExcess = 0.03;

// A compaction that runs.
struct Compaction {
  std::string family;            // name of its column family
  std::vector<uint64_t> inputs;  // numbers of the files that it reads
  FileSums read;                 // sums over its inputs
  FileSums written;              // sums over the tables that it has written
  bool manual = false;
  // True for DB::CompactFiles, which has no events. `read` then is the level
  // that it writes to, or the whole tree if that level is empty.
  bool silent = false;
  uint64_t last_output = 0;  // number of the last file that it wrote

  // Returns the bits already written that will replace bits of the inputs. Both
  // exist until the compaction ends.
  double BitsInPlace(double bits_of_unknown) const {
    if (!(read.keys > 0)) return 0;
    const double part = std::min(written.keys / read.keys, 1.0);
    return std::min(part * read.FilterBits(bits_of_unknown),
                    written.known_bits);
  }
};

// A table that is about to be written.
struct NewTable {
  int level = 0;
  bool bottommost = false;
  // True if its compaction writes a whole run, as universal compactions do;
  // other compactions merge into a level.
  bool whole_run = false;
  const Compaction* compaction = nullptr;  // null for a flush, or if unknown

  int Origin() const { return bottommost ? kBottommost : level; }
  // Returns the keys that its compaction reads; 0 for a flush, or if unknown.
  double KeysRead() const {
    return compaction && !compaction->silent ? compaction->read.keys : 0;
  }
};

// The bits of a new table.
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

// The tree of a column family, and the rule for the bits of its tables. Not
// thread-safe.
class TreeBits : public TreeFiles {
 public:
  void SetLimits(const TreeLimits& limits) { limits_ = limits; }
  const TreeLimits& limits() const { return limits_; }
  // Sets by what shares of lookups runs are weighted, and the least bits per
  // key of a run as long as `use` is not empty.
  void SetUse(const RunUse& use, double min_bits);
  // Sets the option from which the average follows. REQUIRES: called before
  // PlannedRuns() and BitsFor().
  void SetGoal(BitsGoal goal) { goal_ = goal; }
  // Sets the average bits per key that is planned for. REQUIRES: called before
  // BitsFor(), and before PlannedRuns() unless the goal is a rate.
  void SetAverage(double bits_per_key) { average_ = bits_per_key; }

  // Returns the bits of a table; the average as long as nothing is known.
  TableBits BitsFor(const NewTable& table, const RateCurve& curve) const;
  // Returns the most bits per key that a table may have while `free` bits are
  // left: those of the tables that it replaces, and in addition all that are
  // free.
  double MostBits(const NewTable& table, double free,
                  double bits_of_unknown) const;
  // Returns the runs of the full tree, weighted by use.
  std::vector<SortedRun> PlannedRuns() const;
  // Returns the keys that are expected to come until the last run is written
  // again: the tree grows by the factor by which it has grown since the tables
  // of that run were written, on average over their keys. None are expected for
  // manual compactions, nor for smaller runs of universal compaction, which are
  // written again before the last run.
  double KeysToCome(const NewTable& table) const;
  // Returns the average bits per key of all filters on disk. Filters of unknown
  // size count with the average that is set.
  double AverageBits() const;

 private:
  double UseOf(int origin) const;
  // Returns whether lookups need the filters of the runs of this origin.
  bool IsNeeded(int origin) const;
  // Returns the least bits per key that the optimiser may give a run.
  double LeastBits() const;
  // Plans the full tree for a table of a compaction: its level has at least the
  // keys that the compaction reads.
  FullTree PlanWith(const NewTable& table) const;
  SortedRun Weighted(int origin, const LevelRuns& runs) const;
  std::vector<SortedRun> RunsOf(const FullTree& tree) const;
  double PlannedAverage(const std::vector<SortedRun>& runs,
                        const RateCurve& curve) const;
  // Returns the keys of the run to which the table will belong; 0 if unknown.
  double KeysOfRun(const NewTable& table, const FullTree& plan) const;
  // Returns whether a manual compaction writes the table into the only run that
  // it leaves.
  bool IsOnlyRunOfManualCompaction(const NewTable& table) const;
  double FreeBits(const NewTable& table) const;
  TableBits BitsOfWholeRun(const NewTable& table, const RateCurve& curve) const;

  TreeLimits limits_;
  RunUse use_;
  double min_bits_ = 0;
  double average_ = 0;
  BitsGoal goal_ = BitsGoal::kAverage;
};

}  // namespace deltabloom::internal
