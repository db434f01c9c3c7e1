// The trees of all open databases, process-wide: a listener feeds them, every
// policy asks them. Not kept by policies, for databases share policies, a
// database has several, and SetOptions may copy them.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREES_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "deltabloom/filter.h"
#include "engines/rocksdb/levels/compaction_aims.h"
#include "engines/rocksdb/levels/tree_bits.h"

namespace deltabloom::internal {

// The tree of a column family, and what its policy did last.
struct FamilyTree {
  TreeBits bits;
  double asked = 0;  // bits per key; 0: by no policy of levels so far
  Layout layout = Layout::kClassic;
  // By level, with kBottommost: what tables got, and what the LOG was told.
  std::map<int, double> given;
  std::map<int, double> logged;
  // Tables of the tree that were deleted without an event that removed them.
  std::vector<uint64_t> silently_deleted;
};

// A compaction that runs.
struct CompactionJob {
  int output_level = 0;
  double keys_read = 0;
  double keys_from_above = 0;
};

struct WrittenAs {
  int origin = kUnknownOrigin;
  int level = 0;
};

struct UnannouncedTable {
  std::string family;
  int level = 0;
};

struct DatabaseTrees {
  std::string name;
  // Which database, should another one of the name be opened.
  const void* default_family = nullptr;

  // Held while RocksDB is asked for the tree and the answer is taken over.
  // Before `mutex`.
  std::mutex order;
  uint64_t events = 0;  // since RocksDB was asked; under `order`
  // The OPTIONS file that was read last, and what it says; under `order`.
  std::string options_file;
  AimsByFamily aims;

  std::mutex mutex;  // the rest
  std::map<std::string, FamilyTree> families;
  std::unordered_map<int, CompactionJob> jobs;
  std::map<std::string, WrittenAs> origins;  // of tables being written, by path
  // Tables of compactions that no event tells of, as DB::CompactFiles runs
  // them, by number.
  std::map<uint64_t, UnannouncedTable> unannounced;
  // Changes that no event tells of; RocksDB is asked at the next event.
  uint64_t silent_changes = 0;
  uint64_t silent_changes_seen = 0;
};

// Takes over what is known of changes that no event tells of: tables that were
// deleted, in whose place are those that were written for that. With `mutex`
// held, before anybody looks at a tree. Throws std::bad_alloc.
void TakeSilentChanges(DatabaseTrees* trees);

// Those of the database, made if need be.
std::shared_ptr<DatabaseTrees> TreesOf(const std::string& name,
                                       const void* default_family);
// Null if there are none.
std::shared_ptr<DatabaseTrees> FindTrees(const std::string& name);
// When the database is closed.
void ForgetTrees(const void* default_family);
std::map<std::string, std::shared_ptr<DatabaseTrees>> AllTrees();

// What a listener told of the table whose builder this thread is about to make.
// RocksDB tells the listener of database and column family, and just then, on
// the same thread, asks the policy, whom it tells neither.
struct TableNote {
  std::string family;
  std::string path;
  int job = 0;
  std::shared_ptr<DatabaseTrees> trees;  // null: nothing is known yet
};

void LeaveNote(TableNote note);
// False if there is none for this column family. It is gone in any case.
bool TakeNote(const std::string& family, TableNote* note);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREES_H_
