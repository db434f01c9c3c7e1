// The tree of one column family as its files show it, and what a filter that is
// written into it gets under allocation=levels.
//
// A table is written once and asked for as long as it lives, wherever RocksDB
// moves it: flushed tables may sink to the last level without being rewritten,
// and those of the last level have mostly been written for the level above. So
// bits are given not to levels but to origins: what a table was written as. The
// live files tell where those of each origin have come to rest. Those of one
// origin count as one run, with all their keys and the share of the lookups
// that ask them, and the runs get the bits that make the summed false positives
// least (util/rates/allocation.h). All keys are of some origin, so that the
// average comes out as asked, whatever was moved.
//
// Knows neither RocksDB nor time: whoever feeds it says what happened.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_BITS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_BITS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "util/rates/allocation.h"

namespace deltabloom::internal {

// What a table was written as: a level, 0 for flushes, or one of these. A table
// is bottommost if no older data of its range of keys lay below it then.
inline constexpr int kUnknownOrigin = -1;
inline constexpr int kBottommost = 1 << 20;

struct TableFacts {
  uint64_t keys = 0;        // in its filter, or in the table if it has none
  double filter_bits = -1;  // of the whole filter; negative: not known
  int origin = kUnknownOrigin;
};

struct LiveTable {
  uint64_t file;
  int level;
  uint64_t keys;  // counts where no facts are known
};

// A table that is about to be written.
struct NewTable {
  int level = 0;
  bool bottommost = false;
  // Of a compaction: the keys it reads, and of these the ones of other levels
  // than the one it writes to. 0 for a flush.
  double keys_read = 0;
  double keys_from_above = 0;
  // The compaction writes a run as a whole, as universal ones do; else it
  // merges into a level.
  bool whole_run = false;
};

struct TableBits {
  double bits_per_key = 0;
  // By how much the rate falls with the last bit; 0 where nothing is known.
  double slope = 0;
  // The summed rate of all runs.
  double rates = 0;
};

// A level that is not empty, or a file of level 0.
struct TreeRun {
  int level = 0;
  uint64_t files = 0;
  double keys = 0;
  double filter_bits = 0;  // unknown filters counted as assumed
};

// What compactions let the levels hold, as far as it is known. What there is
// beyond that in an upper level waits to be merged downwards.
struct TreeLimits {
  double level0_files = 0;  // that start a compaction; 0: nothing is known
  double base_keys = 0;     // of the first level below level 0
  double ratio = 0;         // of a level to the one above
  bool dynamic = false;     // levels are sized from the last one upwards

  bool operator==(const TreeLimits& other) const {
    return level0_files == other.level0_files && base_keys == other.base_keys &&
           ratio == other.ratio && dynamic == other.dynamic;
  }
};

// Not thread-safe.
class TreeBits {
 public:
  // A table was written, or read of. It counts once it is in the tree.
  void Learn(uint64_t file, const TableFacts& facts);
  bool Knows(uint64_t file) const;
  bool HasInTree(uint64_t file) const;
  void Forget(uint64_t file);
  // A flush wrote so many keys.
  void Flushed(uint64_t keys);

  // All tables of the tree, or what changed.
  void SetTree(const std::vector<LiveTable>& tables);
  void Edit(const std::vector<uint64_t>& removed,
            const std::vector<LiveTable>& added);

  void SetLimits(const TreeLimits& limits);
  const TreeLimits& limits() const { return limits_; }

  // Takes notice of what the average of the tree is to be, and by how much the
  // filters on disk miss it. Before BitsFor(), for each table that is written.
  void Ask(double bits_per_key);
  // For a table: what was asked as long as nothing is known.
  TableBits BitsFor(const NewTable& table, const RateCurve& curve) const;

  // Over all filters on disk; those that are not known count as having what is
  // asked.
  double AverageBits() const { return Now().bits; }

  // From above. Filters that are not known count as having what is asked.
  std::vector<TreeRun> Runs() const;

  double keys() const { return keys_; }
  size_t files() const { return files_.size(); }
  // 0 for one that is not known.
  uint64_t KeysOf(uint64_t file) const;

 private:
  struct File {
    int level = -1;  // not in the tree
    TableFacts facts;
  };
  // Keys of the tree, and how many of a lookup's questions they get.
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
    // Once compactions have caught up: what upper levels hold beyond their
    // limits is merged into the last run and has the bits of that.
    Profile settled;
    double settled_bits = 0;
  };

  void Place(File* file, int level);
  void Unplace(const File& file);
  void Left(const File& file, bool moved);
  void Changed();
  Origin OriginOf(int origin, double run_keys) const;
  double PartOfOrigin(const File& file) const;
  double MovedPart(int origin) const;
  const Shares& Now() const;
  Shares CountShares() const;
  double KeptPart(int level) const;
  Profile MixedProfile(const Shares& now) const;
  double SizeOf(const NewTable& table, const Profile& profile) const;
  double LeastPrice(const Shares& now, const RateCurve& curve) const;
  int DeepestLevel() const;

  std::unordered_map<uint64_t, File> files_;
  std::map<int, double> level_keys_;
  std::map<int, uint64_t> level_files_;
  double keys_ = 0;              // of the files in the tree
  std::map<int, double> moved_;  // by origin, of what left its level lately:
                                 // the part that was moved
  double flush_keys_ = 0;        // of a flush, lately
  double inflow_ = 0;            // keys since profile_ was brought up to date
  double profiled_keys_ = 0;     // keys_ at that time
  Profile profile_;              // lately, in parts of all keys
  mutable Shares now_;           // Now(), while it is valid
  mutable bool now_valid_ = false;
  TreeLimits limits_;
  double asked_ = 0;
  double rewritten_ = 0;   // part of the tree since the last correction
  double integral_ = 0;    // of the correction: adds up while tables are
                           // rewritten
  double correction_ = 0;  // of what is asked, a part
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREE_BITS_H_
