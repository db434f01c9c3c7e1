// The trees of all open databases of the process, which a listener updates, and
// the bits per key of filters under allocation=levels, which policies read from
// them. Policies do not own the trees: databases share policies.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/policy/options.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/listener.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

// How large compactions let the levels of each column family grow, in bytes.
using LimitsByFamily = std::map<std::string, TreeLimits>;

// Reads them from the text of an OPTIONS file. Lines that are not understood
// are ignored.
LimitsByFamily ParseLimits(std::string_view options);

// Lookups in the filters of one origin; `absent` is negatives plus expected
// false positives.
struct OriginLookups {
  double lookups = 0;
  double absent = 0;
};

// Measures the weights of TreeBits::SetUse(). Not thread-safe.
class RunUseCounter {
 public:
  // Fewer lookups say nothing: then runs count alike.
  static constexpr double kLeastLookups = 10'000;
  // The number of lookups after which earlier ones count half.
  static constexpr double kHalfLife = 1'000'000;
  // A weight changes only by more than this factor.
  static constexpr double kHysteresis = 1.25;

  // Takes what `source`, a policy, and the sources of earlier calls counted
  // since then: a copy of a policy is another source beside it. Weights are
  // those of TreeBits::Weights(). Throws std::bad_alloc.
  void Update(const std::shared_ptr<PolicyStatistics>& source,
              const std::map<int, double>& weights);

  // The same for given lookups, by origin. Those of kUnknownOrigin are of
  // tables that were written elsewhere, which count as the last run.
  void Count(std::map<int, OriginLookups> lookups,
             const std::map<int, double>& weights);

  // Empty as long as there are too few lookups.
  const RunUse& use() const { return use_; }
  // Those that count, as far as they are not forgotten.
  double lookups() const { return lookups_; }

 private:
  // Lookups of absent keys, and how many there would be if no lookup found its
  // key.
  struct Asked {
    double absent = 0;
    double most = 0;
  };

  // The rows that were seen of each.
  std::map<std::weak_ptr<PolicyStatistics>, FilterRows, std::owner_less<>>
      sources_;
  std::map<int, Asked> asked_;  // by origin
  double lookups_ = 0;
  RunUse use_;
};

struct LevelBits {
  const LayoutRow* layout = nullptr;
  uint32_t millibits_per_key = 0;
  // If not 0, the rate of the filter, from which its bits follow.
  double false_positive_rate = 0;
};

// What the last table of an origin got.
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
  // With filter_memory: per key of filters of unknown size; 0: not set yet.
  double bits_from_before = 0;
  // Without events, as by DB::CompactFiles; the next event reads the tree.
  bool changed_silently = false;
  std::string memory_problem;  // of filter_memory, as in the LOG
};

// Made if necessary.
std::shared_ptr<DatabaseTrees> TreesOf(const std::string& name,
                                       const void* default_family);
// Null if the database has none.
std::shared_ptr<DatabaseTrees> FindTrees(const std::string& name);
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
// Removes it, and returns it if it is for this column family.
std::optional<TableAnnouncement> TakeAnnouncement(const std::string& family);

// A listener, without a state of its own: any number may listen to a database.
// Nothing throws into RocksDB. Throws std::bad_alloc.
std::unique_ptr<rocksdb::EventListener> NewTreeListener();
// Whether one of them is such a listener.
bool HasTreeListener(
    const std::vector<std::shared_ptr<rocksdb::EventListener>>& listeners);

struct LevelChoice {
  LevelBits bits;
  // No listener announced the table, so its bits are uniform.
  bool no_listener = false;
  std::string log_line;  // if the bits of a level changed much; else empty
};

// The bits that all tables of a level get under allocation=uniform, or where
// their tree is not known.
LevelBits UniformBitsFor(const PolicyOptions& options, int level);

// The bits of the table whose builder this thread is about to make. Throws
// std::bad_alloc.
LevelChoice ChooseByLevel(const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context,
                          const std::shared_ptr<PolicyStatistics>& statistics);

// The bits and layout of a table in a tree with a target.
LevelBits BitsOfTable(const TreeBits& tree, const NewTable& table,
                      Layout layout);

// The same with the target that the options give the tree, which is
// *family->bits, one of *trees. The layout is null if the tree is empty and
// bits follow from a rate. Sets *problem if filter_memory cannot be kept.
LevelBits BitsInTree(const PolicyOptions& options, const NewTable& table,
                     DatabaseTrees* trees, FamilyTree* family,
                     std::string* problem);

// What is wrong with filter_memory in DB::Open, which validates its column
// families one after the other, on one thread; empty if nothing is. Families
// with different totals are refused until EndOfValidation(), which is called
// when DB::Open refuses or writes the options, and when a policy is made.
std::string MemoryConflict(const rocksdb::DBOptions& db,
                           uint64_t filter_memory);
void EndOfValidation();

}  // namespace deltabloom::internal
