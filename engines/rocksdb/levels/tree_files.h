// The files of the tree of one column family, as far as they are known, and
// sums over them.
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

namespace deltabloom::internal {

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

// A sorted run: a level that is not empty, or a file of level 0.
struct TreeRun {
  int level = 0;
  uint64_t files = 0;
  double keys = 0;
  double filter_bits = 0;  // filters of unknown size count with the average
};

// Not thread-safe. The time of a call does not depend on the number of files,
// except for SetTree() and for the files that a call is given.
class TreeFiles {
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

  // Returns the runs from the top of the tree, without some files. Of level 0
  // only the newest kMostFilesOfLevel0 files are returned, because the time of
  // a call must not depend on a database that never compacts. RocksDB stops
  // writes at 36 files by default; databases that allow some more are shown
  // whole.
  std::vector<TreeRun> Runs(double bits_of_unknown,
                            const std::vector<uint64_t>& without = {}) const;
  static constexpr size_t kMostFilesOfLevel0 = 100;
  // Returns the levels as they are.
  std::map<int, LevelRuns> Levels() const;
  // Returns how many filters of each origin a lookup of an absent key queries.
  std::map<int, double> FiltersPerLookup() const;

  // Returns sums over the tables of a level, or of the tree if `level` is
  // negative.
  FileSums Sums(int level = -1) const;
  // Returns the bits of the filters of the tree, and of those that are written
  // but not in the tree yet.
  double FilterBits(double bits_of_unknown) const {
    return pending_bits_ + Sums().FilterBits(bits_of_unknown);
  }

  double keys() const { return keys_; }
  size_t files() const { return files_.size(); }
  // Returns the moving average of the keys of a flush; at least 1.
  double flush_keys() const {
    return std::max(flush_keys_ > 0 ? flush_keys_ : expected_, 1.0);
  }

 private:
  int DeepestLevel() const;
  // Adds a file to the sums, or takes it out of them if `add` is false.
  void Count(uint64_t number, const File& file, bool add);

  std::unordered_map<uint64_t, File> files_;
  // Sums over the files of the tree by level and origin.
  std::map<std::pair<int, int>, FileSums> groups_;
  std::set<uint64_t, std::greater<uint64_t>> level0_;  // newest first
  double keys_ = 0;          // in the files of the tree
  double flush_keys_ = 0;    // moving average of keys; 0 before the first flush
  double expected_ = 0;      // the most keys of the first flush
  double pending_bits_ = 0;  // filter bits of files that are not in the tree
};

}  // namespace deltabloom::internal
