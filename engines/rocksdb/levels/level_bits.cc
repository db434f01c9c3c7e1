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
// is built as local, the layout that builds fastest: that adds some half a
// percent to the false positives of a lookup.
constexpr double kFewKeys = 1.0 / 1500;

// The LOG gets a line if the bits per key of an origin have changed by more
// than this since the last line. Half a bit changes a rate by a factor of 1.4;
// smaller changes would fill the LOG with lines that nobody acts upon.
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

// The average bits per key without filter_memory: those that are set, or those
// with which the runs of the full tree together have the rate that is set. The
// latter are 0 if no tree is known.
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

// A line for the LOG if the bits of a level changed much since the last one,
// or nothing: "... L0 22.1 L5 13.2 last 9.6; ...".
std::string LogChange(const std::string& name, FamilyTree* family) {
  std::string text;
  bool changed = false;
  for (const auto& [origin, last] : family->given) {
    changed |= std::fabs(last.logged - last.bits_per_key) > kLoggedChange;
    text +=
        origin == kBottommost ? " last " : " L" + std::to_string(origin) + " ";
    text += NumberText(last.bits_per_key, 1);
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
         NumberText(family->target, 2) + " bits per key set, " +
         NumberText(family->bits.AverageBits(), 2) + " on disk" + use;
}

}  // namespace

LevelBits UniformBitsFor(const PolicyOptions& options, int level) {
  return {FindLayout(options.layout, Hash::kMurmurHash2, level),
          options.filter_memory == 0 ? options.MillibitsPerKey()
                                     : ToMillibits(options.min_bits_per_key),
          options.false_positive_rate};
}

LevelBits BitsOfTable(const TreeBits& tree, const NewTable& table,
                      Layout layout) {
  const LayoutCurve& all = CurveOf(layout);
  const TableBits given = tree.BitsFor(table, all.curve);
  const RunBits filter = all.curve.At(given.bits_per_key);
  if (layout == Layout::kAuto && table.level == 0 && given.share < kFewKeys) {
    // local gets the bits at which one bit more lowers its rate as much as it
    // lowers the rate of the best layout, which halves with each bit. The limit
    // of filters on disk does not apply: such a run has too few keys to matter.
    const double slope = std::log(2) * filter.rate;
    const double bits = CurveOf(Layout::kLocal).curve.BitsAtSlope(slope);
    return {FindLayout(Layout::kLocal, Hash::kMurmurHash2),
            MillibitsOf(std::max(bits, given.bits_per_key))};
  }
  return {all.rows[filter.option], MillibitsOf(given.bits_per_key)};
}

LevelBits BitsInTree(const PolicyOptions& options, const NewTable& table,
                     DatabaseTrees* trees, FamilyTree* family,
                     std::string* problem) {
  // SetOptions changes one family after the other: all with the old total have
  // a new one until their policies are called. A family without a total leaves
  // the others theirs.
  const uint64_t total = options.filter_memory;
  const uint64_t before = std::exchange(family->seen_memory, total);
  for (auto& [name, other] : trees->families) {
    if (before != 0 && total != 0 && other.filter_memory == before) {
      other.filter_memory = total;
    }
  }
  family->filter_memory = total;
  family->layout = options.layout;
  double most = kMaxBitsPerKey;
  if (total == 0) {
    family->target = TargetBits(options, family->bits);
  } else {
    if (!(trees->bits_from_before > 0)) {
      trees->bits_from_before = BitsFromBefore(*trees, options);
    }
    const double unknown = trees->bits_from_before;
    const Memory memory = MemoryOf(*trees, unknown);
    family->target =
        SharedBits(memory, options, family->bits.KeysToCome(table), problem);
    most = family->bits.MostBits(table, memory.Shared() - memory.bits, unknown);
  }
  if (family->target < kMinBitsPerKey) return {};
  family->bits.SetAverage(family->target, GoalOf(options));
  LevelBits bits = BitsOfTable(family->bits, table, family->layout);
  if (options.filter_memory != 0) {
    bits.millibits_per_key =
        std::max(std::min(bits.millibits_per_key, MillibitsOf(most)),
                 MillibitsOf(options.min_bits_per_key));
  }
  return bits;
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
  while (trees.origins.size() >= kMaxOrigins) {
    trees.origins.erase(trees.origins.begin());
  }
  trees.origins[note->path] = table.Origin();
  const auto it = trees.families.find(context.column_family_name);
  choice.no_tree = it == trees.families.end();
  if (choice.no_tree) return choice;
  FamilyTree& family = it->second;
  if (options.weights_by_use && options.statistics) {
    family.use.Update(statistics, family.bits.Weights());
  } else {
    family.use = RunUseCounter();
  }
  const RunUse& use = family.use.use();
  family.bits.SetUse(use, options.min_bits_per_key);
  if (context.reason == rocksdb::TableFileCreationReason::kCompaction) {
    const auto [job, is_new] = trees.jobs.try_emplace(note->job);
    if (is_new) {
      job->second.family = it->first;
      job->second.silent = true;
      job->second.read = family.bits.Sums(table.level);
      if (!(job->second.read.keys > 0)) job->second.read = family.bits.Sums();
    }
    table.compaction = &job->second;
  }
  std::string problem;
  const LevelBits bits = BitsInTree(options, table, &trees, &family, &problem);
  if (bits.layout == nullptr) return choice;
  choice.bits = bits;
  LastTable& last = family.given[table.Origin()];
  last.layout = bits.layout->name;
  last.bits_per_key = last.without_use = bits.millibits_per_key / 1000.0;
  if (!use.empty()) {
    family.bits.SetUse({}, 0);
    last.without_use =
        BitsOfTable(family.bits, table, family.layout).millibits_per_key /
        1000.0;
  }
  choice.log_line = LogChange(it->first, &family);
  if (problem != trees.memory_problem) {
    trees.memory_problem = problem;
    if (!problem.empty()) {
      if (!choice.log_line.empty()) choice.log_line += "\n";
      choice.log_line += "[deltabloom] " + problem;
    }
  }
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
