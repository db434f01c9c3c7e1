// The tree of one column family as its files show it, and the bits per key of a
// filter that is written into it under allocation=levels.
//
// Bits are assigned to origins: the level that a table was written for,
// wherever RocksDB moves it. Tables of one origin count as one run, and the
// runs get the bits that minimise the weighted sum of their false-positive
// rates (util/rates/allocation.h). The average over all keys is the target.
//
// A run that fewer lookups ask than kUsed gives a proportional part of its bits
// back. Universal compaction rewrites whole runs: see BitsOfWholeRun().
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_BITS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_BITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "util/rates/allocation.h"

namespace deltabloom::internal {

// By origin: how many lookups ask a run of it for keys that it does not hold,
// in parts of all lookups. Origins without a value have 1; nothing at all: runs
// count alike.
using RunUse = std::map<int, double>;

// What a table was written for: a level, 0 for flushes, or one of these. A
// table is bottommost if there was no older data of its key range below it.
inline constexpr int kUnknownOrigin = -1;
inline constexpr int kBottommost = 1 << 20;

struct TableFacts {
  uint64_t keys = 0;        // in its filter, or in the table without one
  double filter_bits = -1;  // of the whole filter; negative: unknown
  int origin = kUnknownOrigin;
};

struct LiveTable {
  uint64_t file;
  int level;
  uint64_t keys;  // used where no facts are known
};

// A table that is about to be written.
struct NewTable {
  int level = 0;
  bool bottommost = false;
  // The keys that its compaction reads, and those of them that are not in the
  // level it writes to. 0 for a flush.
  double keys_read = 0;
  double keys_from_above = 0;
  // Its compaction writes a whole run, as universal ones do; else it merges
  // into a level.
  bool whole_run = false;
  // The files that its compaction reads; null for none.
  const std::vector<uint64_t>* inputs = nullptr;
};

struct TableBits {
  double bits_per_key = 0;
  // By how much the last bit lowers the rate; 0 if nothing is known.
  double slope = 0;
  // The weight of its run, and the summed rate of all runs by their weights.
  double use = 1;
  double rates = 0;
};

// A level that is not empty, or a file of level 0.
struct TreeRun {
  int level = 0;
  uint64_t files = 0;
  double keys = 0;
  double filter_bits = 0;  // with the target for unknown filters
};

// How much compactions let the levels hold, as far as it is known. What an
// upper level holds beyond that waits to be merged downwards.
struct TreeLimits {
  double level0_files = 0;  // that start a compaction; 0: unknown
  double base_keys = 0;     // of the first level below level 0
  double ratio = 0;         // of a level to the one above
  bool dynamic = false;     // levels are sized from the last one upwards
};

// Not thread-safe. Sums over the files are kept up to date by each change of
// them, so that no function but SetTree() and FilesIn() visits files that it is
// not given.
class TreeBits {
 public:
  // The facts of a table. It counts once it is in the tree.
  void Learn(uint64_t file, const TableFacts& facts);
  bool Knows(uint64_t file) const {
    return FileOf(file).facts.filter_bits >= 0;
  }
  bool HasInTree(uint64_t file) const { return FileOf(file).level >= 0; }
  void Forget(uint64_t file);
  // A flush wrote this many keys.
  void Flushed(uint64_t keys);

  // Sets all tables of the tree, or changes some.
  void SetTree(const std::vector<LiveTable>& tables);
  void Edit(const std::vector<uint64_t>& removed,
            const std::vector<LiveTable>& added);

  void SetLimits(const TreeLimits& limits);
  const TreeLimits& limits() const { return limits_; }

  // A run below this share of the lookups gives bits back.
  static constexpr double kUsed = 0.001;

  // Weights, and the least bits per key of a run while there are any. Bits are
  // given back only if `returns`; else the target is what the weights need.
  void SetUse(const RunUse& use, double min_bits, bool returns);
  const RunUse& use() const { return use_; }
  double min_bits() const { return min_bits_; }
  bool returns() const { return returns_; }
  // How many filters of each origin a lookup asks if no run has its key.
  std::map<int, double> Weights() const;

  // Sets the average of the tree, and corrects for filters on disk that miss
  // it. Called before BitsFor(), for each table that is written.
  void SetTarget(double bits_per_key);
  // The bits of a table: the target as long as nothing is known.
  TableBits BitsFor(const NewTable& table, const RateCurve& curve) const;

  // Over all filters on disk; unknown ones count with the target.
  double AverageBits() const { return CurrentShares().bits; }

  // From the top of the tree. Unknown filters count with the target. Of level 0
  // only the newest kMostFilesOfLevel0 files.
  std::vector<TreeRun> Runs() const { return RunsWithout(nullptr); }
  static constexpr size_t kMostFilesOfLevel0 = 100;
  // The same, with the files of level 0 in groups of similar size.
  std::vector<SortedRun> SortedRuns() const;
  std::vector<uint64_t> FilesIn(int level) const;

  // Of the tables of the tree and of those that are written but not in it yet.
  double FilterBits(double bits_of_unknown) const;
  double BitsOf(const std::vector<uint64_t>& files,
                double bits_of_unknown) const;

  double keys() const { return keys_; }
  // Of a flush, lately.
  double flush_keys() const { return std::max(flush_keys_, 1.0); }
  size_t files() const { return files_.size(); }
  // 0 for an unknown file.
  uint64_t KeysOf(uint64_t file) const { return FileOf(file).facts.keys; }

  // The files that were looked at since the beginning: what changes cost.
  uint64_t visits() const { return visits_; }

 private:
  struct File {
    int level = -1;  // not in the tree
    TableFacts facts;
  };
  // Sums over files of the tree.
  struct Sums {
    uint64_t files = 0;
    double keys = 0;
    double known_bits = 0;    // of filters
    double unknown_keys = 0;  // of files with unknown filters

    void Add(const TableFacts& facts, bool add);
  };
  // Files that count alike: all of one level and origin, of level 0 those whose
  // keys are within a factor of two.
  struct Group {
    int level;
    int origin;
    int octave;

    bool operator<(const Group& other) const {
      return std::tie(level, origin, octave) <
             std::tie(other.level, other.origin, other.octave);
    }
  };
  // Keys, in parts of those of the tree, and how many of their filters a
  // lookup queries.
  struct Share {
    double keys = 0;
    double weight = 0;
  };
  // By origin and size: sizes within a factor of two are one.
  using Origin = std::pair<int, int>;
  using Profile = std::map<Origin, Share>;
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

  File FileOf(uint64_t file) const;  // as if new if it is unknown
  void Place(uint64_t number, int level, File* file);
  void Unplace(uint64_t number, const File& file);
  void Count(const File& file, bool add);
  double BitsIn(const Sums& sums) const;
  void CountDeparture(const File& file, bool moved);
  void UpdateProfile();
  double UseOf(int origin) const;
  // The origin of most tables of a level.
  int OriginAt(int level) const;
  // The bits per key of a run's keys once it gave back what it does not need.
  double Wanted(int origin) const;
  double WantedBits() const;
  SortedRun Weighted(int origin, double keys, double weight) const;
  double MovedPart(int origin) const;
  const Shares& CurrentShares() const;
  Shares CountShares() const;
  double KeptPart(int level) const;
  // With the share `part` of `now` in it.
  static Profile Mixed(Profile profile, const Profile& now, double part);
  double RunSizeOf(const NewTable& table, const Profile& profile) const;
  std::vector<TreeRun> RunsWithout(const std::vector<uint64_t>* files) const;
  TableBits BitsOfWholeRun(const NewTable& table, const RateCurve& curve) const;
  double MinPrice(const Shares& now, const RateCurve& curve) const;
  double KeysIn(int level) const;
  int DeepestLevel() const;

  std::unordered_map<uint64_t, File> files_;
  std::map<int, Sums> levels_;
  std::map<Group, Sums> groups_;                       // of files with keys
  std::set<uint64_t, std::greater<uint64_t>> level0_;  // newest first
  mutable uint64_t visits_ = 0;
  double keys_ = 0;              // of the files in the tree
  std::map<int, double> moved_;  // by origin, of what left its level lately:
                                 // the part that was moved
  double flush_keys_ = 0;        // of a flush, lately
  double inflow_ = 0;            // keys since profile_ was brought up to date
  double profiled_keys_ = 0;     // keys_ at that time
  Profile profile_;              // lately, in parts of all keys
  mutable Shares now_;           // CurrentShares(), while they are valid
  mutable bool now_valid_ = false;
  TreeLimits limits_;
  RunUse use_;
  double min_bits_ = 0;
  bool returns_ = false;
  double pending_bits_ = 0;  // of files that are not in the tree
  double target_ = 0;
  double rewritten_ = 0;   // part of the tree since the last correction
  double integral_ = 0;    // of the correction: adds up while tables are
                           // rewritten
  double correction_ = 0;  // a part of the target
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_BITS_H_
