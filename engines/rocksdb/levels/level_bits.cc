#include "engines/rocksdb/levels/level_bits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::FilterBuildingContext;
using ROCKSDB_NAMESPACE::TableFileCreationReason;

// Under layout=auto a table of level 0 is built as local, the layout that
// builds fastest, if that adds no more than this to all false positives of a
// lookup. It does so where the table has few of the tree's keys.
constexpr double kPriceOfLocal = 0.005;

// A change of bits per key that is worth a line in the LOG.
constexpr double kNews = 0.5;

// Entries of DatabaseTrees::origins beyond which the oldest are dropped: they
// are of tables that RocksDB gave up without a word.
constexpr size_t kMaxOrigins = 10'000;

// The average that is asked for: as bits, or those with which the runs of the
// tree together have the rate. In tenths then, for every flush changes it. 0
// if no tree is known.
double AskedBits(const PolicyOptions& options, const TreeBits& tree) {
  const double rate = options.false_positive_rate;
  if (rate == 0) return options.MillibitsPerKey() / 1000.0;
  std::vector<SortedRun> runs;
  for (const TreeRun& run : tree.Runs()) runs.push_back({run.keys, 1});
  const Allocation least =
      AllocateForRates(CurveOf(options.layout).curve, runs, rate);
  if (!(least.keys > 0)) return 0;
  return std::max(kMinBitsPerKey, std::ceil(10 * least.bits / least.keys) / 10);
}

uint32_t MillibitsOf(double bits_per_key) {
  return bits_per_key < RateCurve::kMinBits
             ? 0
             : ToMillibits(std::min(bits_per_key, RateCurve::kMaxBits));
}

std::string LevelText(int level) {
  return level == kBottommost ? "last" : "L" + std::to_string(level);
}

// "L0 22.1 L5 13.2 last 9.6"
std::string GivenText(const std::map<int, double>& given) {
  std::string text;
  for (const auto& [level, bits] : given) {
    char number[32];
    std::snprintf(number, sizeof(number), " %.1f", bits);
    text += (text.empty() ? "" : " ") + LevelText(level) + number;
  }
  return text;
}

bool IsNews(const FamilyTree& family) {
  return std::any_of(family.given.begin(), family.given.end(),
                     [&family](const auto& one) {
                       const auto logged = family.logged.find(one.first);
                       return logged == family.logged.end() ||
                              std::fabs(logged->second - one.second) > kNews;
                     });
}

std::string NewsOf(const std::string& name, FamilyTree* family) {
  if (!IsNews(*family)) return {};
  family->logged = family->given;
  char numbers[128];
  std::snprintf(numbers, sizeof(numbers),
                "; %.2f bits per key asked, %.2f on disk", family->asked,
                family->bits.AverageBits());
  return "[deltabloom] levels of column family " + name +
         ": bits per key by the level written to: " + GivenText(family->given) +
         numbers;
}

NewTable TableOf(const FilterBuildingContext& context,
                 const DatabaseTrees& trees, int job) {
  NewTable table;
  table.level = context.level_at_creation;
  table.bottommost = context.is_bottommost;
  table.whole_run =
      context.compaction_style != ROCKSDB_NAMESPACE::kCompactionStyleLevel;
  const auto it = trees.jobs.find(job);
  if (context.reason == TableFileCreationReason::kCompaction &&
      it != trees.jobs.end()) {
    table.keys_read = it->second.keys_read;
    table.keys_from_above = it->second.keys_from_above;
  }
  return table;
}

}  // namespace

LevelBits UniformBitsFor(const PolicyOptions& options, int level) {
  return {FindLayout(options.layout, Hash::kMurmurHash2, level),
          options.MillibitsPerKey(), options.false_positive_rate};
}

LevelBits BitsOf(const TreeBits& tree, const NewTable& table, Layout layout) {
  const LayoutCurve& all = CurveOf(layout);
  const TableBits given = tree.BitsFor(table, all.curve);
  double bits = given.bits_per_key;
  const LayoutRow* row = FindLayout(layout, Hash::kMurmurHash2, table.level);
  if (layout == Layout::kAuto && table.level == 0 && given.slope > 0) {
    const RateCurve& local = CurveOf(Layout::kLocal).curve;
    const double as_local = local.BitsAtSlope(given.slope);
    const double price = local.At(as_local).rate + given.slope * as_local -
                         all.curve.At(bits).rate - given.slope * bits;
    if (price < kPriceOfLocal * given.rates) {
      return {FindLayout(Layout::kLocal, Hash::kMurmurHash2),
              MillibitsOf(as_local)};
    }
  }
  if (given.slope > 0) row = all.rows[all.curve.At(bits).option];
  return {row, MillibitsOf(bits)};
}

LevelChoice ChooseByLevel(const PolicyOptions& options,
                          const FilterBuildingContext& context) {
  LevelChoice choice;
  choice.bits = UniformBitsFor(options, context.level_at_creation);
  TableNote note;
  const bool noted = TakeNote(context.column_family_name, &note);
  if (context.reason == TableFileCreationReason::kMisc ||
      context.level_at_creation < 0) {
    return choice;  // SstFileWriter: nobody knows where it will go
  }
  choice.no_listener = !noted;
  if (!noted || note.trees == nullptr) return choice;
  const std::lock_guard<std::mutex> lock(note.trees->mutex);
  auto& origins = note.trees->origins;
  while (origins.size() >= kMaxOrigins) origins.erase(origins.begin());
  const int origin =
      context.is_bottommost ? kBottommost : context.level_at_creation;
  origins[note.path] = {origin, context.level_at_creation};
  TakeSilentChanges(note.trees.get());
  const auto it = note.trees->families.find(context.column_family_name);
  if (it == note.trees->families.end()) return choice;
  FamilyTree& family = it->second;
  family.asked = AskedBits(options, family.bits);
  family.layout = options.layout;
  if (family.asked < kMinBitsPerKey) return choice;
  family.bits.Ask(family.asked);
  choice.bits = BitsOf(family.bits, TableOf(context, *note.trees, note.job),
                       family.layout);
  family.given[origin] = choice.bits.millibits_per_key / 1000.0;
  choice.log_line = NewsOf(it->first, &family);
  return choice;
}

}  // namespace deltabloom::internal
