// The tree of one column family, as far as it is known from its files, and the
// bits per key of a filter that is written into it under allocation=levels.
//
// The rule is (docs/design.md has an example with numbers): the optimiser
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

// Maps an origin to the share of lookups that query a run for keys that it does
// not hold. Origins without a value have the share 1.
using RunUse = std::map<int, double>;

// A run that a smaller share of lookups than this queries needs no filter of
// its own: even without one it adds less than a read to a thousand lookups. If
// such runs kept their bits, filters would have 9.1 bits per key instead of 5
// where all lookups hit (docs/measurements.md).
inline constexpr double kNeededUse = 0.001;

// Filters on disk may exceed the average that is planned by this part of it,
// which is what users are promised (docs/levels.md): with more of it lookups
// would have fewer false positives, for memory that nobody has asked for. Upper
// levels need it where RocksDB moved tables into the last run without
// writing them anew. With 0 lookups have 1.14 times as many false positives;
// without a limit sequential loads have 13 bits per key instead of 10
// (docs/measurements.md).
inline constexpr double kMostExcess = 0.03;

// The origin of a table is the level that it was written for, or one of these.
// A table is bottommost if there was no older data of its key range below it.
inline constexpr int kUnknownOrigin = -1;
inline constexpr int kBottommost = 1 << 20;

// Returns "level 5" or "bottommost".
std::string NameOfOrigin(int origin);

struct TableFacts {
  uint64_t keys = 0;  // in the filter, or in the table if it has no filter
  double filter_bits = -1;  // size of the whole filter; negative if unknown
  int origin = kUnknownOrigin;
  // Keys of the whole tree when the table was written; 0 if that was not seen.
  double tree_keys = 0;
};

// Sums over files.
struct FileSums {
  uint64_t files = 0;
  double keys = 0;
  double dated_keys = 0;    // keys of files whose tree_keys are known
  double tree_keys = 0;     // sum of keys * tree_keys over these files
  double known_bits = 0;    // bits of the filters whose sizes are known
  double unknown_keys = 0;  // keys of files with filters of unknown size

  // Adds a file, or takes it out if `add` is false.
  void Add(const TableFacts& facts, bool add = true);
  void Add(const FileSums& other);
  // Returns the bits of all filters. Those of unknown size have
  // bits_of_unknown bits per key.
  double FilterBits(double bits_of_unknown) const {
    return known_bits + bits_of_unknown * unknown_keys;
  }
};

struct LiveTable {
  uint64_t file;
  int level;
  uint64_t keys;  // 0 if unknown; not used if the facts of the table are known
};

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

// A sorted run: a level that is not empty, or a file of level 0.
struct TreeRun {
  int level = 0;
  uint64_t files = 0;
  double keys = 0;
  double filter_bits = 0;  // filters of unknown size count with the average
};

// The tree of a column family. Not thread-safe. The time of a call does not
// depend on the number of files, except for SetTree() and for the files that a
// call is given.
class TreeBits {
 public:
  struct File {
    int level = -1;  // -1 if the file is not in the tree
    TableFacts facts;
  };

  // Sets the facts of a table, which counts once it is in the tree.
  void Learn(uint64_t file, const TableFacts& facts);
  // Learns a table that was written just now, into the tree as it is.
  void LearnNew(uint64_t file, TableFacts facts);
  // Returns a new File if it is unknown.
  File Find(uint64_t file) const;
  void Forget(uint64_t file);
  // Takes note of the keys of a flush.
  void Flushed(uint64_t keys);
  // Sets the most keys that the next flush can have. They are used until the
  // first call of Flushed().
  void ExpectFlush(uint64_t keys) { expected_ = static_cast<double>(keys); }

  // Replaces the files of the tree.
  void SetTree(const std::vector<LiveTable>& tables);
  // Takes files out of the tree and adds others. A file in both lists is moved.
  void Edit(const std::vector<uint64_t>& removed,
            const std::vector<LiveTable>& added);

  void SetLimits(const TreeLimits& limits) { limits_ = limits; }
  const TreeLimits& limits() const { return limits_; }

  // Sets by what shares of lookups runs are weighted, and the least bits per
  // key of a run as long as `use` is not empty.
  void SetUse(const RunUse& use, double min_bits);
  // Sets the option from which the average follows. REQUIRES: called before
  // PlannedRuns() and BitsFor().
  void SetGoal(BitsGoal goal) { goal_ = goal; }
  // Returns how many filters of each origin a lookup of an absent key queries.
  std::map<int, double> FiltersPerLookup() const;

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

  // Returns the average bits per key of all filters on disk. Filters of unknown
  // size count with the average that is set.
  double AverageBits() const;

  // Returns the runs from the top of the tree, without some files. Of level 0
  // only the newest kMostFilesOfLevel0 files are returned, because the time of
  // a call must not depend on a database that never compacts. RocksDB stops
  // writes at 36 files by default; databases that allow some more are shown
  // whole.
  std::vector<TreeRun> Runs(const std::vector<uint64_t>& without = {}) const;
  static constexpr size_t kMostFilesOfLevel0 = 100;

  // Returns sums over the tables of a level, or of the tree if `level` is
  // negative.
  FileSums Sums(int level = -1) const;
  // Returns the bits of the filters of the tree, and of those that are written
  // but not in the tree yet.
  double FilterBits(double bits_of_unknown) const {
    return pending_bits_ + Sums().FilterBits(bits_of_unknown);
  }

  double keys() const { return keys_; }
  // Returns the keys that are expected to come until the last run is written
  // again: the tree grows by the factor by which it has grown since the tables
  // of that run were written, on average over their keys. None are expected for
  // manual compactions, nor for smaller runs of universal compaction, which are
  // written again before the last run.
  double KeysToCome(const NewTable& table) const;
  // Returns the moving average of the keys of a flush; at least 1.
  double flush_keys() const {
    return std::max(flush_keys_ > 0 ? flush_keys_ : expected_, 1.0);
  }
  size_t files() const { return files_.size(); }

 private:
  // Adds a file to the sums, or takes it out of them if `add` is false.
  void Count(uint64_t number, const File& file, bool add);
  double UseOf(int origin) const;
  // Returns whether lookups need the filters of the runs of this origin.
  bool IsNeeded(int origin) const;
  // Returns the least bits per key that the optimiser may give a run.
  double LeastBits() const;
  // Returns the levels as they are.
  std::map<int, LevelRuns> Levels() const;
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
  double KeysIn(int level) const { return Sums(level).keys; }
  int DeepestLevel() const;

  std::unordered_map<uint64_t, File> files_;
  // Sums over the files of the tree by level and origin.
  std::map<std::pair<int, int>, FileSums> groups_;
  std::set<uint64_t, std::greater<uint64_t>> level0_;  // newest first
  double keys_ = 0;          // in the files of the tree
  double flush_keys_ = 0;    // moving average of keys; 0 before the first flush
  double expected_ = 0;      // the most keys of the first flush
  double pending_bits_ = 0;  // filter bits of files that are not in the tree
  TreeLimits limits_;
  RunUse use_;
  double min_bits_ = 0;
  double average_ = 0;
  BitsGoal goal_ = BitsGoal::kAverage;
};

}  // namespace deltabloom::internal
