// The trees of all open databases of the process. A listener updates them, and
// policies read them. Policies do not own them, as databases share policies, a
// database has several, and SetOptions may copy them.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREES_H_
#define DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "deltabloom/filter.h"
#include "engines/rocksdb/levels/run_use.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "rocksdb/listener.h"

namespace deltabloom::internal {

// How large compactions let the levels of a column family grow.
struct LevelLimits {
  double level0_files = 0;  // 0: no limits are known
  double base_bytes = 0;
  double ratio = 0;
  bool dynamic = false;
  bool known = true;  // false: under another compaction style, for example

  TreeLimits InKeys(double keys_per_byte) const {
    return {level0_files, base_bytes * keys_per_byte, ratio, dynamic};
  }
};

// By name of the column family.
using LimitsByFamily = std::map<std::string, LevelLimits>;

// Reads them from the text of an OPTIONS file. Families whose levels have no
// limits, as under universal and FIFO compaction, and lines that are not
// understood are left out.
LimitsByFamily ParseLimits(std::string_view options);

// Reads them from the OPTIONS file that RocksDB keeps with the database, if it
// is another one than `*file`: a listener lacks the handles that DB::GetOptions
// needs.
void ReadLimits(rocksdb::DB* db, std::string* file, LimitsByFamily* limits);

// The tree of a column family, and what its policy did last.
struct FamilyTree {
  TreeBits bits;
  double target = 0;  // bits per key; 0: no policy of levels has set any
  RunUseCounter use;
  uint64_t filter_memory = 0;  // as its policy has it
  Layout layout = Layout::kClassic;
  bool whole_runs = false;  // as of the last table
  // By level, with kBottommost: bits per key of the last tables, and what the
  // LOG has.
  std::map<int, double> given;
  std::map<int, double> logged;
  // Tables of the tree that were deleted without an event that removed them.
  std::vector<uint64_t> silently_deleted;
};

// A compaction that runs.
struct CompactionJob {
  double keys_read = 0;
  double keys_from_above = 0;
  std::vector<uint64_t> inputs;
  double filter_bits = 0;  // of the tables that it has written
};

struct WrittenAs {
  std::string family;
  int origin = kUnknownOrigin;
  int level = 0;
};

struct DatabaseTrees {
  // Identifies the database: another one of the same name has another.
  const void* default_family = nullptr;

  // Held while the tree is read from RocksDB and taken over. Locked before
  // `mutex`.
  std::mutex order;
  uint64_t events = 0;  // since the tree was read; under `order`
  // The OPTIONS file that was read last, and its limits; under `order`.
  std::string options_file;
  LimitsByFamily limits;

  std::mutex mutex;  // the rest
  std::map<std::string, FamilyTree> families;
  std::unordered_map<int, CompactionJob> jobs;
  std::map<std::string, WrittenAs> origins;  // of tables being written, by path
  // Tables of compactions without events, as DB::CompactFiles runs them, by
  // number.
  std::map<uint64_t, WrittenAs> unannounced;
  // Changes without events; the next event reads the tree from RocksDB.
  uint64_t silent_changes = 0;
  uint64_t silent_changes_seen = 0;
  // What is wrong with filter_memory, as the LOG has it.
  std::string memory_problem;
};

// Applies changes without events: tables that were deleted are replaced by
// those that were written for that. Called with `mutex` held, before a tree is
// read. Throws std::bad_alloc.
void ApplySilentChanges(DatabaseTrees* trees);

// The trees of the database, made if necessary.
std::shared_ptr<DatabaseTrees> TreesOf(const std::string& name,
                                       const void* default_family);
// Null if the database has none.
std::shared_ptr<DatabaseTrees> FindTrees(const std::string& name);
// Called when the database is closed.
void ForgetTrees(const void* default_family);
std::map<std::string, std::shared_ptr<DatabaseTrees>> AllTrees();

// The table whose builder this thread is about to make. RocksDB tells the
// listener the database and the column family, and right after that, on the
// same thread, calls the policy, which learns neither from RocksDB.
struct TableAnnouncement {
  std::string family;
  std::string path;
  int job = 0;
  std::shared_ptr<DatabaseTrees> trees;  // null: none are known yet
};

void AnnounceTable(TableAnnouncement table);
// Returns false if there is none for this column family. Removes it in any
// case.
bool TakeAnnouncement(const std::string& family, TableAnnouncement* table);

// A listener, which has no state of its own: any number may listen to a
// database. Nothing throws into RocksDB; what could not be learned for lack of
// memory is read again. Throws std::bad_alloc.
std::unique_ptr<rocksdb::EventListener> NewTreeListener();
// Whether one of them is such a listener.
bool HasTreeListener(
    const std::vector<std::shared_ptr<rocksdb::EventListener>>& listeners);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_LEVELS_TREES_H_
