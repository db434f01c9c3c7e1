// The tree of one column family as its files show it, and the bits per key of a
// filter that is written into it under allocation=levels.
//
// Bits are assigned to origins: the level that a table was written for,
// wherever RocksDB moves it. Tables of one origin count as one run, and the
// runs get the bits that minimise the weighted sum of their false-positive
// rates (util/rates/allocation.h). The average over all keys is the target.
//
// As far as lookups do not need the last run, bits are given back that save no
// more reads than uniform bits. Universal compaction rewrites whole runs, each
// of which gives bits back by itself: see BitsOfWholeRun().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "util/rates/allocation.h"

namespace deltabloom::internal {

// By origin: the share of lookups that query a run of it for keys that it does
// not hold; 1 for origins without a value.
using RunUse = std::map<int, double>;

// What a table was written for: a level, 0 for flushes, or one of these. A
// table is bottommost if there was no older data of its key range below it.
inline constexpr int kUnknownOrigin = -1;
inline constexpr int kBottommost = 1 << 20;

struct TableFacts {
  uint64_t keys = 0;        // in its filter, or in the table without one
  double filter_bits = -1;  // of the whole filter; negative: unknown
  int origin = kUnknownOrigin;
  double tree_keys = 0;  // of the whole tree when it was written
};

struct FileSums {
  uint64_t files = 0;
  double keys = 0;
  double tree_keys = 0;     // of each file, times its keys
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
  std::vector<uint64_t> inputs;
  FileSums read;
  FileSums written;
  bool manual = false;
  // DB::CompactFiles, which has no events: `read` is the level that it writes
  // to, or the whole tree.
  bool silent = false;
  uint64_t last_output = 0;

  // Of the tables that it has written, the bits that take the place of those of
  // its inputs, which are there until it ends.
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
  // By how much the last bit lowers the rate; 0 if nothing is known.
  double slope = 0;
  double share = 1;  // of the tree's keys, that its run has
};

// A level that is not empty, or a file of level 0.
struct TreeRun {
  int level = 0;
  uint64_t files = 0;
  double keys = 0;
  double filter_bits = 0;  // with the target for unknown filters
};

// How much compactions let the levels hold, as far as it is known.
struct TreeLimits {
  double level0_files = 0;  // that start a compaction; 0: unknown
  double base = 0;          // keys, or bytes, of the first level below it
  double ratio = 0;         // of a level to the one above
  bool dynamic = false;     // levels are sized from the last one upwards
  bool kept = true;         // by automatic leveled compactions
  bool filters = true;      // the column family has a filter policy

  bool Known() const {
    return kept && level0_files > 0 && base > 0 && ratio >= 1;
  }
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
  // As if new if it is unknown.
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

  // A run below this share of the lookups gives bits back.
  static constexpr double kUsed = 0.001;

  // Weights, and the least bits per key of a run while there are any. Bits are
  // given back only if `returns`; else the target is what the weights need.
  void SetUse(const RunUse& use, double min_bits, bool returns);
  // How many filters of each origin a lookup asks if no run has its key.
  std::map<int, double> Weights() const;

  // Sets the average of the tree, and corrects for filters on disk that miss
  // it. Called after SetUse() and before BitsFor(), for each table that is
  // written.
  void SetTarget(double bits_per_key, const RateCurve& curve);
  // The bits of a table: the target as long as nothing is known.
  TableBits BitsFor(const NewTable& table, const RateCurve& curve) const;
  // The runs of the tree, lately: one of each origin, with its weight. Keys are
  // parts of those of the tree.
  std::vector<SortedRun> RunsOfOrigins() const;

  // Over all filters on disk; unknown ones count with the target.
  double AverageBits() const { return CountShares().bits; }

  // From the top of the tree, without some files. Unknown filters count with
  // the target. Of level 0 only the newest kMostFilesOfLevel0 files.
  std::vector<TreeRun> Runs(const std::vector<uint64_t>& without = {}) const;
  static constexpr size_t kMostFilesOfLevel0 = 100;

  // Of the tables of a level; negative: of the tree.
  FileSums Sums(int level = -1) const;
  // Of the tables of the tree and of those that are written but not in it yet.
  double FilterBits(double bits_of_unknown) const {
    return pending_bits_ + Sums().FilterBits(bits_of_unknown);
  }

  double keys() const { return keys_; }
  // Keys expected until the run of a table is written again: as many as came
  // since it was last written; none for a flush or in a manual compaction.
  double KeysToCome(const NewTable& table) const;
  // Of a flush, lately.
  double flush_keys() const {
    return std::max(flush_keys_ > 0 ? flush_keys_ : expected_, 1.0);
  }
  size_t files() const { return files_.size(); }

  // The files that were looked at since the beginning: what changes cost.
  uint64_t visits() const { return visits_; }

 private:
  // Keys, in parts of those of the tree, and how many of their filters a lookup
  // queries.
  struct Share {
    double keys = 0;
    double weight = 0;
  };
  using Profile = std::map<int, Share>;  // by origin
  // Bits are per key of the tree.
  struct Shares {
    Profile of;
    double bottommost_bits = 0;
    double bits = 0;
    // The same once compactions have caught up: what upper levels hold beyond
    // their limits is merged into the last run and gets its bits.
    Profile settled;
    double settled_bits = 0;
  };

  void Count(uint64_t number, const File& file, bool add);
  double UseOf(int origin) const;
  // The bits per key of a run's keys once it gave back what it does not need.
  double Wanted(int origin) const;
  // The average bits per key of the tree.
  double WantedBits(const RateCurve& curve) const;
  SortedRun Weighted(int origin, const Share& share) const;
  Shares CountShares() const;
  double KeptPart(int level) const;
  // With the share `part` of `now` in it.
  static Profile Mixed(const Profile& profile, const Profile& now, double part);
  Profile RecentProfile(const Shares& now) const;
  std::vector<SortedRun> RunsOf(const Profile& profile) const;
  double RunSizeOf(const NewTable& table, const Profile& profile) const;
  TableBits BitsOfWholeRun(const NewTable& table, const RateCurve& curve) const;
  double MinPrice(const Shares& now, const RateCurve& curve) const;
  double KeysIn(int level) const { return Sums(level).keys; }
  int DeepestLevel() const;
  int OriginAt(int level) const;

  std::unordered_map<uint64_t, File> files_;
  // Of the files of the tree, by level and origin.
  std::map<std::pair<int, int>, FileSums> groups_;
  std::set<uint64_t, std::greater<uint64_t>> level0_;  // newest first
  mutable uint64_t visits_ = 0;
  double keys_ = 0;           // of the files in the tree
  double flush_keys_ = 0;     // of a flush, lately
  double expected_ = 0;       // in the first flush
  double inflow_ = 0;         // keys since profile_ was brought up to date
  double profiled_keys_ = 0;  // keys_ at that time
  Profile profile_;           // settled shares, lately
  TreeLimits limits_;
  RunUse use_;
  double min_bits_ = 0;
  bool returns_ = false;
  double pending_bits_ = 0;  // of files that are not in the tree
  double target_ = 0;
  double wanted_ = 0;      // WantedBits() when the target was set
  double rewritten_ = 0;   // part of the tree since the last correction
  double integral_ = 0;    // of the correction
  double correction_ = 0;  // a part of the target
};

}  // namespace deltabloom::internal
