#include "engines/rocksdb/levels/level_bits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "deltabloom/filter.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/filter_memory.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "engines/rocksdb/levels/tree_listener.h"
#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/options.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/rates/allocation.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

// Under layout=auto a table of level 0 with a smaller share of the tree's keys
// is built as local, the layout that builds fastest. With this share and an
// average of 10, compact would have 20 bits per key and local has 30: that is
// 10 / 1500 = 0.007 bits for each key of the tree, with which compact would
// save 0.5 % of all false positives.
constexpr double kFewKeys = 1.0 / 1500;

// The LOG gets a line if the bits per key of an origin have changed by more
// than this since the last line. Half a bit changes a rate by a factor of 1.4;
// smaller changes call for no action.
constexpr double kLoggedChange = 0.5;

// If DatabaseTrees::origins has more entries, the first ones by name are
// dropped. Entries stay only if RocksDB gives up a table without an event, and
// far fewer tables than this are written at a time: the limit bounds the memory
// to some MB, and is never reached in practice.
constexpr size_t kMaxOrigins = 10'000;

BitsGoal GoalOf(const PolicyOptions& options) {
  if (options.filter_memory != 0) return BitsGoal::kTotal;
  return options.false_positive_rate == 0 ? BitsGoal::kAverage
                                          : BitsGoal::kRate;
}

// Returns the average bits per key without filter_memory: those that are set,
// or those with which the runs of the full tree together have the rate that is
// set. Returns 0 if there is a rate and no tree is known.
double TargetBits(const PolicyOptions& options, const TreeBits& tree) {
  const double rate = options.false_positive_rate;
  if (rate == 0) return options.MillibitsPerKey() / 1000.0;
  const Allocation least =
      AllocateForRates(CurveOf(options.layout).curve, tree.PlannedRuns(), rate);
  if (!(least.keys > 0)) return 0;
  return std::max(kMinBitsPerKey, least.bits / least.keys);
}

uint32_t MillibitsOf(double bits_per_key) {
  return bits_per_key < kMinBitsPerKey
             ? 0
             : ToMillibits(std::min(bits_per_key, kMaxBitsPerKey));
}

// Returns a line for the LOG if the bits of a level have changed much since the
// last line, else nothing. docs/levels.md shows one.
std::string LogChange(const std::string& name, FamilyTree* family) {
  std::string text;
  bool changed = false;
  for (const auto& [origin, last] : family->given) {
    changed |= std::fabs(last.logged - last.bits_per_key) > kLoggedChange;
    text += (text.empty() ? " " : ", ") + NameOfOrigin(origin) + " " +
            NumberText(last.bits_per_key, 1);
  }
  if (!changed) return {};
  for (auto& [origin, last] : family->given) last.logged = last.bits_per_key;
  std::string use;
  for (const auto& [origin, share] : family->use.use()) {
    use += (use.empty() ? "; lookups of absent keys: " : ", ") +
           NameOfOrigin(origin) + " " + NumberText(share, 4);
  }
  return "[deltabloom] levels of column family " + name +
         ": bits per key by the level written to:" + text + "; " +
         NumberText(family->target, 2) + " bits per key planned, " +
         NumberText(family->tree.AverageBits(), 2) + " on disk" + use;
}

// Returns a line for the LOG if the problem of filter_memory is a new one, else
// nothing.
std::string LogProblem(const std::string& problem, DatabaseTrees* trees) {
  if (problem == trees->memory_problem) return {};
  trees->memory_problem = problem;
  return problem.empty() ? std::string() : "[deltabloom] " + problem;
}

// Remembers for what a table is written until the event of its end.
void RememberOrigin(const std::string& path, int origin, DatabaseTrees* trees) {
  while (trees->origins.size() >= kMaxOrigins) {
    trees->origins.erase(trees->origins.begin());
  }
  trees->origins[path] = origin;
}

// Learns the weights of the runs from the lookups that the policy counted, or
// forgets them.
void UpdateUse(const PolicyOptions& options,
               const std::shared_ptr<PolicyStatistics>& statistics,
               FamilyTree* family) {
  if (options.weights_by_use && options.statistics) {
    family->use.Update(statistics, family->tree.FiltersPerLookup());
  } else {
    family->use.Forget(statistics);
  }
}

// Returns the compaction that writes a table into a level. If its start had no
// event, it is DB::CompactFiles: it is added as a rewrite of that level.
const Compaction* FindOrAddJob(int id, int level, const std::string& name,
                               const TreeBits& tree, DatabaseTrees* trees) {
  const auto [job, is_new] = trees->jobs.try_emplace(id);
  Compaction& compaction = job->second;
  if (is_new) {
    compaction.family = name;
    compaction.silent = true;
    compaction.read = tree.Sums(level);
    if (!(compaction.read.keys > 0)) compaction.read = tree.Sums();
  }
  return &compaction;
}

// Keeps what a table gets, for the LOG and the functions that print levels.
void RememberBits(const LevelBits& bits, const LevelBits& without_use,
                  LastTable* last) {
  last->layout = bits.layout->name;
  last->bits_per_key = bits.millibits_per_key / 1000.0;
  last->without_use = without_use.millibits_per_key / 1000.0;
}

// Sets the total of a column family, which its policy has now; 0 if it has
// none.
//
// SetOptions changes one column family after the other, and the policy of each
// is called only when it writes a table. So a total that has changed in one
// counts for all that had the old one, until their policies are called. A
// column family that has lost its total leaves the others theirs.
void SetTotal(uint64_t total, DatabaseTrees* trees, FamilyTree* family) {
  const uint64_t before = std::exchange(family->seen_memory, total);
  for (auto& [name, other] : trees->families) {
    if (before != 0 && total != 0 && other.filter_memory == before) {
      other.filter_memory = total;
    }
  }
  family->filter_memory = total;
}

// Sets the average of a column family to its share of the total, and returns
// the limits of a table. Sets *problem to what keeps the total from being kept.
BitsLimits ShareTotal(const PolicyOptions& options, const NewTable& table,
                      DatabaseTrees* trees, FamilyTree* family,
                      std::string* problem) {
  if (!(trees->bits_from_before > 0)) {
    trees->bits_from_before = BitsFromBefore(*trees, options);
  }
  const double unknown = trees->bits_from_before;
  const Memory memory = MemoryOf(*trees, unknown);
  family->target =
      SharedBits(memory, options, family->tree.KeysToCome(table), problem);
  const double free = memory.Shared() - memory.bits;
  return {options.min_bits_per_key,
          family->tree.MostBits(table, free, unknown)};
}

}  // namespace

LevelBits UniformBitsFor(const PolicyOptions& options, int level) {
  return {FindLayout(options.layout, Hash::kMurmurHash2, level),
          options.filter_memory == 0 ? options.MillibitsPerKey()
                                     : ToMillibits(options.min_bits_per_key),
          options.false_positive_rate};
}

LevelBits BitsOfTable(const TreeBits& tree, const NewTable& table,
                      Layout layout, const BitsLimits& limits) {
  const LayoutCurve& all = CurveOf(layout);
  const TableBits given = tree.BitsFor(table, all.curve);
  const double bits =
      std::max(std::min(given.bits_per_key, limits.most), limits.least);
  const RunBits filter = all.curve.At(bits);
  if (layout == Layout::kAuto && table.level == 0 && given.share < kFewKeys) {
    // local gets the bits at which one bit more lowers its rate as much as it
    // lowers the rate of the best layout, which halves with each bit. They may
    // exceed what BitsFor() leaves, because such a run has few keys, but not
    // a total.
    const double slope = std::log(2) * filter.rate;
    const double bits_of_local =
        std::max(CurveOf(Layout::kLocal).curve.BitsAtSlope(slope), bits);
    if (bits_of_local <= limits.most) {
      return {FindLayout(Layout::kLocal, Hash::kMurmurHash2),
              MillibitsOf(bits_of_local)};
    }
  }
  return {all.rows[filter.option], MillibitsOf(bits)};
}

LevelBits BitsInTree(const PolicyOptions& options, const NewTable& table,
                     DatabaseTrees* trees, FamilyTree* family,
                     std::string* problem) {
  problem->clear();
  SetTotal(options.filter_memory, trees, family);
  family->layout = options.layout;
  family->tree.SetGoal(GoalOf(options));
  BitsLimits limits;
  if (options.filter_memory != 0) {
    limits = ShareTotal(options, table, trees, family, problem);
  } else {
    family->target = TargetBits(options, family->tree);
  }
  if (family->target < kMinBitsPerKey) return {};
  family->tree.SetAverage(family->target);
  return BitsOfTable(family->tree, table, family->layout, limits);
}

LevelChoice ChooseByLevel(Process* process, const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context,
                          const std::shared_ptr<PolicyStatistics>& statistics) {
  LevelChoice choice;
  choice.bits = UniformBitsFor(options, context.level_at_creation);
  const std::optional<TableAnnouncement> note =
      TakeAnnouncement(process, context.column_family_name);
  if (context.reason == rocksdb::TableFileCreationReason::kMisc ||
      context.level_at_creation < 0) {
    return choice;  // SstFileWriter: its level is not known yet
  }
  choice.no_listener = !note.has_value();
  choice.no_tree = !choice.no_listener && note->trees == nullptr;
  if (choice.no_listener || choice.no_tree) return choice;

  NewTable table{context.level_at_creation, context.is_bottommost,
                 context.compaction_style != rocksdb::kCompactionStyleLevel};
  DatabaseTrees& trees = *note->trees;
  const std::lock_guard<std::mutex> lock(trees.mutex);
  RememberOrigin(note->path, table.Origin(), &trees);
  const auto it = trees.families.find(context.column_family_name);
  choice.no_tree = it == trees.families.end();
  if (choice.no_tree) return choice;

  FamilyTree& family = it->second;
  UpdateUse(options, statistics, &family);
  if (context.reason == rocksdb::TableFileCreationReason::kCompaction) {
    table.compaction =
        FindOrAddJob(note->job, table.level, it->first, family.tree, &trees);
  }
  std::string problem;
  family.tree.SetUse({}, 0);
  const LevelBits without_use =
      BitsInTree(options, table, &trees, &family, &problem);
  LevelBits bits = without_use;
  if (!family.use.use().empty()) {
    family.tree.SetUse(family.use.use(), options.min_bits_per_key);
    bits = BitsInTree(options, table, &trees, &family, &problem);
  }
  if (bits.layout == nullptr) return choice;

  choice.bits = bits;
  RememberBits(bits, without_use, &family.given[table.Origin()]);
  choice.log_line = LogChange(it->first, &family);
  // Families without a total say nothing of those that have one.
  const std::string line =
      options.filter_memory == 0 ? std::string() : LogProblem(problem, &trees);
  if (!choice.log_line.empty() && !line.empty()) choice.log_line += "\n";
  choice.log_line += line;
  return choice;
}

std::string MemoryProblem(const Process& process, const rocksdb::DBOptions& db,
                          uint64_t filter_memory) {
  if (filter_memory == 0 || HasTreeListener(db.listeners)) return {};
  if (process.listener_was_made) return {};
  return "filter_memory needs its listener: add listeners=deltabloom to the "
         "DBOptions of the OPTIONS file, or NewRocksDBFilterListener() to "
         "DBOptions::listeners";
}

}  // namespace deltabloom::internal
