// The trees of all open databases of the process, which a listener updates and
// policies read. Policies do not own the trees: databases share policies.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/run_use.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "rocksdb/listener.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

// The sizes in bytes up to which compactions let the levels of each column
// family grow.
using LimitsByFamily = std::map<std::string, TreeLimits>;

// Reads them from the text of an OPTIONS file. Lines that are not understood
// are ignored.
LimitsByFamily ParseLimits(std::string_view options);

// The last table of an origin.
struct LastTable {
  const char* layout = nullptr;
  double bits_per_key = 0;
  double without_use = 0;  // as if runs counted alike
  double logged = 0;       // the bits per key in the LOG
};

// The tree of a column family, and what its policy did last.
struct FamilyTree {
  TreeBits bits;
  double target = 0;  // bits per key; 0: no policy of levels has set any
  RunUseCounter use;
  uint64_t filter_memory = 0;  // as its policy has it, as far as known
  uint64_t seen_memory = 0;    // as its policy had it when last called
  Layout layout = Layout::kClassic;
  std::map<int, LastTable> given;  // by origin
  // Tables of the tree that were deleted since it was read: those of a dropped
  // column family, or replaced by CompactFiles. Until it is read again they
  // stay in it, as it lacks the tables that replaced them.
  std::set<uint64_t> deleted;
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
  std::unordered_map<int, Compaction> jobs;
  std::map<std::string, int> origins;  // of tables being written, by path
  // Filters of unknown size count with these bits per key under filter_memory;
  // 0: not set yet.
  double bits_from_before = 0;
  // The tree changed without events, as by DB::CompactFiles; the next event
  // reads it.
  bool changed_silently = false;
  std::string memory_problem;  // of filter_memory, as in the LOG
};

// Makes the trees if necessary.
std::shared_ptr<DatabaseTrees> TreesOf(Process* process,
                                       const std::string& name,
                                       const void* default_family);
// Null if the database has none.
std::shared_ptr<DatabaseTrees> FindTrees(Process* process,
                                         const std::string& name);
void ForgetTrees(Process* process, const void* default_family);
std::map<std::string, std::shared_ptr<DatabaseTrees>> AllTrees(
    Process* process);

// Announces the table whose builder this thread is about to make.
void AnnounceTable(Process* process, TableAnnouncement table);
void DropAnnouncement(Process* process);
// Drops it, and returns it if it is for this column family.
std::optional<TableAnnouncement> TakeAnnouncement(Process* process,
                                                  const std::string& family);

// A listener, without a state of its own: any number may listen to a database.
// Nothing throws into RocksDB. Throws std::bad_alloc.
std::unique_ptr<rocksdb::EventListener> NewTreeListener(Process* process);
// Reads what the listener would know of a database after its first event.
void ReadTree(Process* process, rocksdb::DB* db);
// Returns whether one of them is a listener of NewTreeListener().
bool HasTreeListener(
    const std::vector<std::shared_ptr<rocksdb::EventListener>>& listeners);

}  // namespace deltabloom::internal
