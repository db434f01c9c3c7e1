#include "engines/rocksdb/levels/level_bits.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "util/json.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

// Under layout=auto a table of level 0 is built as local, the layout that
// builds fastest, if that adds no more than this share to the false positives
// of a lookup, as for tables with few of the tree's keys.
constexpr double kMaxCostOfLocal = 0.005;

// A larger change of bits per key is logged.
constexpr double kLoggedChange = 0.5;

// With more entries in DatabaseTrees::origins the oldest are dropped: they are
// of tables that RocksDB gave up without an event.
constexpr size_t kMaxOrigins = 10'000;

// The average bits per key: those that are set, or those with which the runs of
// the tree together have the rate that is set. The latter in tenths, as every
// flush changes them; 0 if no tree is known.
double TargetBits(const PolicyOptions& options, const TreeBits& tree) {
  const double rate = options.false_positive_rate;
  if (rate == 0) return options.MillibitsPerKey() / 1000.0;
  const Allocation least =
      AllocateForRates(CurveOf(options.layout).curve, tree.SortedRuns(), rate);
  if (!(least.keys > 0)) return 0;
  return std::max(kMinBitsPerKey, std::ceil(10 * least.bits / least.keys) / 10);
}

uint32_t MillibitsOf(double bits_per_key) {
  return bits_per_key < RateCurve::kMinBits
             ? 0
             : ToMillibits(std::min(bits_per_key, RateCurve::kMaxBits));
}

// A line for the LOG if the bits of a level changed much since the last one,
// or nothing: "... L0 22.1 L5 13.2 last 9.6; ...".
std::string LogChange(const std::string& name, FamilyTree* family) {
  std::string text;
  bool changed = false;
  for (const auto& [level, bits] : family->given) {
    const auto logged = family->logged.find(level);
    changed |= logged == family->logged.end() ||
               std::fabs(logged->second - bits) > kLoggedChange;
    text +=
        level == kBottommost ? " last " : " L" + std::to_string(level) + " ";
    text += NumberText(bits, 1);
  }
  if (!changed) return {};
  family->logged = family->given;
  return "[deltabloom] levels of column family " + name +
         ": bits per key by the level written to:" + text + "; " +
         NumberText(family->target, 2) + " bits per key set, " +
         NumberText(family->bits.AverageBits(), 2) + " on disk";
}

NewTable TableOf(const rocksdb::FilterBuildingContext& context,
                 const DatabaseTrees& trees, int job) {
  NewTable table;
  table.level = context.level_at_creation;
  table.bottommost = context.is_bottommost;
  table.whole_run = context.compaction_style != rocksdb::kCompactionStyleLevel;
  const auto it = trees.jobs.find(job);
  if (context.reason == rocksdb::TableFileCreationReason::kCompaction &&
      it != trees.jobs.end()) {
    table.keys_read = it->second.keys_read;
    table.keys_from_above = it->second.keys_from_above;
    table.inputs = &it->second.inputs;
  }
  return table;
}

// What tables would get that are written now: flushes, tables of each level
// that is not empty, and tables that have no older data below them.
void WriteNextTables(const FamilyTree& family, const std::vector<TreeRun>& runs,
                     JsonWriter* json) {
  std::vector<uint64_t> all;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i > 0 && runs[i].level == 0) continue;
    const std::vector<uint64_t> files = family.bits.FilesIn(runs[i].level);
    all.insert(all.end(), files.begin(), files.end());
  }
  const auto add = [&](const std::string& as, int level, bool bottommost,
                       const std::vector<uint64_t>& replaced) {
    NewTable table;
    table.level = level;
    table.bottommost = bottommost;
    if (family.whole_runs) {
      table.whole_run = true;
      table.inputs = &replaced;
      for (const uint64_t file : replaced) {
        table.keys_read += static_cast<double>(family.bits.KeysOf(file));
      }
    }
    const LevelBits bits = BitsOfTable(family.bits, table, family.layout);
    json->BeginObject().Key("as").String(as);
    json->Key("bits_per_key").Number(bits.millibits_per_key / 1000.0, 6);
    json->Key("layout").String(bits.layout->name).EndObject();
  };
  const int deepest = runs.empty() ? 0 : runs.back().level;
  add("flush", 0, false, {});
  for (const TreeRun& run : runs) {
    if (run.level == 0 || run.level == deepest) continue;
    add("level " + std::to_string(run.level), run.level, false,
        family.bits.FilesIn(run.level));
  }
  add("last run", deepest, true, all);
}

void WriteFamily(const std::string& name, const FamilyTree& family,
                 JsonWriter* json) {
  const std::vector<TreeRun> runs = family.bits.Runs();
  const RateCurve& curve = CurveOf(family.layout).curve;
  const auto rate_of = [&curve](const TreeRun& run) {
    return run.keys > 0 ? curve.At(run.filter_bits / run.keys).rate : 0;
  };
  std::vector<SortedRun> sorted;
  double expected = 0;
  double keys = 0;
  double bits = 0;
  for (const TreeRun& run : runs) {
    sorted.push_back({run.keys, 1});
    expected += rate_of(run);
    keys += run.keys;
    bits += run.filter_bits;
  }
  json->BeginObject().Key("name").String(name).Key("allocation");
  if (family.target >= kMinBitsPerKey) {
    const double average = keys > 0 ? bits / keys : 0;
    json->String("levels").Key("layout").String(LayoutName(family.layout));
    json->Key("bits_per_key").BeginObject();
    json->Key("asked").Number(family.target, 6);
    json->Key("on_disk").Number(average, 6).EndObject();
    json->Key("false_positives_per_lookup").BeginObject();
    json->Key("expected").Number(expected, 4);
    json->Key("best").Number(AllocateBits(curve, sorted, average).rates, 4);
    json->Key("uniform").Number(UniformBits(curve, sorted, average).rates, 4);
    json->EndObject().Key("writes").BeginArray();
    WriteNextTables(family, runs, json);
    json->EndArray();
  } else {
    json->Literal("null");
  }
  json->Key("runs").BeginArray();
  for (const TreeRun& run : runs) {
    json->BeginObject().Key("level").Literal(std::to_string(run.level));
    json->Key("files").Number(run.files).Key("keys").Number(run.keys, 17);
    json->Key("bits_per_key")
        .Number(run.keys > 0 ? run.filter_bits / run.keys : 0, 5);
    json->Key("rate").Number(rate_of(run), 4).EndObject();
  }
  json->EndArray().EndObject();
}

}  // namespace

LevelBits UniformBitsFor(const PolicyOptions& options, int level) {
  return {FindLayout(options.layout, Hash::kMurmurHash2, level),
          options.MillibitsPerKey(), options.false_positive_rate};
}

LevelBits BitsOfTable(const TreeBits& tree, const NewTable& table,
                      Layout layout) {
  const LayoutCurve& all = CurveOf(layout);
  const TableBits given = tree.BitsFor(table, all.curve);
  double bits = given.bits_per_key;
  const LayoutRow* row = FindLayout(layout, Hash::kMurmurHash2, table.level);
  if (layout == Layout::kAuto && table.level == 0 && given.slope > 0) {
    const RateCurve& local = CurveOf(Layout::kLocal).curve;
    const double as_local = local.BitsAtSlope(given.slope);
    const double cost = local.At(as_local).rate + given.slope * as_local -
                        all.curve.At(bits).rate - given.slope * bits;
    if (cost < kMaxCostOfLocal * given.rates) {
      return {FindLayout(Layout::kLocal, Hash::kMurmurHash2),
              MillibitsOf(as_local)};
    }
  }
  if (given.slope > 0) row = all.rows[all.curve.At(bits).option];
  return {row, MillibitsOf(bits)};
}

LevelChoice ChooseByLevel(const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context) {
  LevelChoice choice;
  choice.bits = UniformBitsFor(options, context.level_at_creation);
  TableAnnouncement note;
  const bool noted = TakeAnnouncement(context.column_family_name, &note);
  if (context.reason == rocksdb::TableFileCreationReason::kMisc ||
      context.level_at_creation < 0) {
    return choice;  // SstFileWriter: its level is not known yet
  }
  choice.no_listener = !noted;
  if (!noted || note.trees == nullptr) return choice;
  const std::lock_guard<std::mutex> lock(note.trees->mutex);
  auto& origins = note.trees->origins;
  while (origins.size() >= kMaxOrigins) origins.erase(origins.begin());
  const int origin =
      context.is_bottommost ? kBottommost : context.level_at_creation;
  origins[note.path] = {note.family, origin, context.level_at_creation};
  ApplySilentChanges(note.trees.get());
  const auto it = note.trees->families.find(context.column_family_name);
  if (it == note.trees->families.end()) return choice;
  FamilyTree& family = it->second;
  family.target = TargetBits(options, family.bits);
  family.layout = options.layout;
  if (family.target < kMinBitsPerKey) return choice;
  family.bits.SetTarget(family.target);
  const NewTable table = TableOf(context, *note.trees, note.job);
  family.whole_runs = table.whole_run;
  choice.bits = BitsOfTable(family.bits, table, family.layout);
  family.given[origin] = choice.bits.millibits_per_key / 1000.0;
  choice.log_line = LogChange(it->first, &family);
  return choice;
}

std::string LevelsJson() {
  JsonWriter json;
  json.BeginObject().Key("databases").BeginArray();
  for (const auto& [name, trees] : AllTrees()) {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    ApplySilentChanges(trees.get());
    json.BeginObject().Key("path").String(name).Key("column_families");
    json.BeginArray();
    for (const auto& [family_name, family] : trees->families) {
      WriteFamily(family_name, family, &json);
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().text();
}

}  // namespace deltabloom::internal
