// The trees of all open databases of a process.
//
// Who makes them: the listener of a database, at the first event of the
// database after it was opened, or ReadTrees(). They are in Process::databases.
//
// Who uses them: the listener updates them at each event. Policies look up the
// tree of the table that they build a filter for, and change what belongs to
// the policy of a column family. The functions that print levels read them. A
// policy does not own a tree, because databases share policies.
//
// When they end: when RocksDB deletes the handle of the default column family,
// which it does when the database is closed; a builder may hold them longer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/limits.h"
#include "engines/rocksdb/levels/run_use.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

// Describes the filter of the last table of an origin.
struct LastTable {
  const char* layout = nullptr;
  double bits_per_key = 0;
  double without_use = 0;  // bits per key that it would have without weights
  double logged = 0;       // bits per key in the last line of the LOG
};

// The tree of a column family, and what its policy did last.
struct FamilyTree {
  TreeBits tree;
  // The average bits per key of the plan; 0 until a policy with
  // allocation=levels has set it.
  double target = 0;
  RunUseCounter use;
  // The total of its policy as far as it is known: that of the last call, or
  // one that SetOptions has given another column family since.
  uint64_t filter_memory = 0;
  uint64_t seen_memory = 0;  // the total at the last call of its policy
  Layout layout = Layout::kClassic;
  std::map<int, LastTable> given;  // by origin
  // Tables of the tree that were deleted since it was read: those of a dropped
  // column family, or those that CompactFiles replaced. They stay in the tree
  // until it is read again, because it lacks the tables that replaced them.
  std::set<uint64_t> deleted;
};

struct DatabaseTrees {
  // The handle of the default column family. It identifies the database: one
  // that is opened later under the same name has another handle.
  const void* default_family = nullptr;

  // Held while the trees are read from RocksDB and taken over, so that an older
  // state never replaces a newer one. Locked before `mutex`.
  std::mutex order;
  // The next three are guarded by `order`.
  uint64_t events = 0;       // number of events since the trees were read
  std::string options_file;  // the name of the one that was read last
  LimitsByFamily limits;     // those of options_file

  std::mutex mutex;  // guards the rest
  std::map<std::string, FamilyTree> families;
  std::unordered_map<int, Compaction> jobs;  // compactions that run, by job
  // Origins of the tables that are being written, by path. A policy adds one,
  // and the event of the table's end takes it.
  std::map<std::string, int> origins;
  // The bits per key with which filters of unknown size count under
  // filter_memory; 0 until they are first needed.
  double bits_from_before = 0;
  // True if a tree has changed without an event, as by DB::CompactFiles. The
  // next event then reads all trees.
  bool changed_silently = false;
  std::string memory_problem;  // the problem of filter_memory in the LOG
};

// Returns the trees of a database. They are made anew if there are none, or if
// those of this name have another default column family: then the database was
// closed, and opened again.
std::shared_ptr<DatabaseTrees> TreesOf(Process* process,
                                       const std::string& name,
                                       const void* default_family);
// Returns null if the database has no trees.
std::shared_ptr<DatabaseTrees> FindTrees(Process* process,
                                         const std::string& name);
// Drops the trees of the database with this default column family.
void ForgetTrees(Process* process, const void* default_family);
std::map<std::string, std::shared_ptr<DatabaseTrees>> AllTrees(
    Process* process);

// Announces the table whose builder this thread is about to make.
void AnnounceTable(Process* process, TableAnnouncement table);
// Drops the announcement of this thread, if there is one.
void DropAnnouncement(Process* process);
// Drops the announcement of this thread, and returns it if it is for this
// column family.
std::optional<TableAnnouncement> TakeAnnouncement(Process* process,
                                                  const std::string& family);

}  // namespace deltabloom::internal
