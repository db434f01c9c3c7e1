#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/levels/trees.h"
#include "rocksdb/options.h"
#include "util/json.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

// Under layout=auto a table of level 0 with a smaller share of the tree's keys
// is built as local, the layout that builds fastest: that adds some half a
// percent to the false positives of a lookup.
constexpr double kFewKeys = 1.0 / 1500;

constexpr double kLoggedChange = 0.5;  // of bits per key; more is logged

// With more entries in DatabaseTrees::origins the first by name are dropped:
// most are of tables that RocksDB gave up without an event.
constexpr size_t kMaxOrigins = 10'000;

// With filter_memory, the share of it that tables are given: the rest is for
// tables that are written before the last run is next rewritten.
constexpr double kPlannedMemory = 0.97;

constexpr double kLookupsPerUpdate = 1000;

// By this factor of the excess over filter_memory DB::CompactFiles writes fewer
// bits.
constexpr double kExcessWeight = 10;
// Below this share of lookups in filters of unknown rate the others are enough.
constexpr double kMostUnknown = 0.01;

// The memory of a database's filters. Tables of a compaction that runs count as
// far as they have more bits than those that they replace.
struct Memory {
  uint64_t asked = 0;    // the smallest filter_memory; 0: none
  bool differs = false;  // families have different ones
  double keys = 0;       // of families with one
  double bits = 0;       // of their filters
  double other_bits = 0;

  // What the families with filter_memory have together, in bits.
  double Shared() const { return 8 * static_cast<double>(asked) - other_bits; }
  uint64_t Bytes() const {
    return static_cast<uint64_t>(std::max(bits + other_bits, 0.0) / 8);
  }
};

// Filters of unknown size have `unknown` bits per key.
Memory MemoryOf(const DatabaseTrees& trees, double unknown) {
  Memory memory;
  for (const auto& [name, family] : trees.families) {
    const uint64_t total = family.filter_memory;
    const double bits =
        family.bits.FilterBits(family.bits.limits().filters ? unknown : 0);
    (total == 0 ? memory.other_bits : memory.bits) += bits;
    if (total == 0) continue;
    memory.keys += family.bits.keys();
    memory.differs |= memory.asked != 0 && memory.asked != total;
    memory.asked = memory.asked == 0 ? total : std::min(memory.asked, total);
  }
  for (const auto& [id, job] : trees.jobs) {
    memory.bits -= job.BitsInPlace(unknown);
  }
  return memory;
}

// The bits per key of filters from before the start, whose sizes are unknown
// until a compaction reads them: as if the total had been kept.
double BitsFromBefore(const DatabaseTrees& trees,
                      const PolicyOptions& options) {
  double keys = 0;
  for (const auto& [name, family] : trees.families) {
    if (family.bits.limits().filters) keys += family.bits.keys();
  }
  const double planned =
      kPlannedMemory * 8 * static_cast<double>(options.filter_memory);
  return std::min(planned / std::max(keys, 1.0), options.max_bits_per_key);
}

// The average bits per key under filter_memory, over the keys that share it and
// keys_to_come. Sets *problem to one line if the total cannot be kept.
double SharedBits(const Memory& memory, const PolicyOptions& options,
                  double keys_to_come, std::string* problem) {
  if (memory.differs) {
    *problem =
        "column families have different values of filter_memory: the smallest "
        "is used until all have the same";
  }
  const double planned = memory.Shared() * kPlannedMemory;
  if (planned < options.min_bits_per_key * memory.keys) {
    *problem = "filter_memory=" + std::to_string(memory.asked) +
               " cannot be kept: filters have min_bits_per_key=" +
               NumberText(options.min_bits_per_key);
  }
  return std::clamp(
      planned / std::max(memory.keys + keys_to_come, 1.0),
      options.min_bits_per_key,
      std::max(options.min_bits_per_key, options.max_bits_per_key));
}

// The bits per key that the total leaves for a table. A compaction takes what
// the tables had that it replaces, but never more while the total is exceeded;
// flushes then get the least.
double MostBits(const TreeBits& tree, const NewTable& table, double spare,
                double unknown) {
  const Compaction* const job = table.compaction;
  if (job == nullptr || !(job->read.keys > 0)) {
    return std::max(spare, 0.0) / tree.flush_keys();
  }
  const double had = job->read.FilterBits(unknown) / job->read.keys;
  // What DB::CompactFiles replaces may have less than its level.
  if (job->silent)
    return had + (spare < 0 ? kExcessWeight : 1) * spare / tree.keys();
  const double left = job->read.keys - job->written.keys;
  return had + (left > 0 ? std::max(spare, 0.0) / left : 0);
}

// The average bits per key without filter_memory: those that are set, or those
// with which the runs of the tree together have the rate that is set. The
// latter are in tenths, as every flush changes them, and 0 if no tree is known.
double TargetBits(const PolicyOptions& options, const TreeBits& tree) {
  const double rate = options.false_positive_rate;
  if (rate == 0) return options.MillibitsPerKey() / 1000.0;
  const Allocation least = AllocateForRates(CurveOf(options.layout).curve,
                                            tree.RunsOfOrigins(), rate);
  if (!(least.keys > 0)) return 0;
  return std::max(kMinBitsPerKey, std::ceil(10 * least.bits / least.keys) / 10);
}

// What DB::Open last validated on this thread.
struct Validation {
  const rocksdb::DBOptions* db = nullptr;
  const rocksdb::EventListener* first_listener = nullptr;
  uint64_t filter_memory = 0;
};

thread_local Validation validation_on_this_thread;

uint32_t MillibitsOf(double bits_per_key) {
  return bits_per_key < RateCurve::kMinBits
             ? 0
             : ToMillibits(std::min(bits_per_key, RateCurve::kMaxBits));
}

// "flush", "level 5" or "last run".
std::string NameOfOrigin(int origin) {
  return origin == kBottommost ? "last run"
         : origin == 0         ? "flush"
                               : "level " + std::to_string(origin);
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

// The value of a label for Prometheus.
std::string Label(std::string_view text) {
  std::string label = "\"";
  for (const char c : Utf8Of(text)) {
    if (c == '"' || c == '\\' || c == '\n') label += '\\';
    label += c == '\n' ? 'n' : c;
  }
  return label + '"';
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
  for (const TreeRun& run : runs) {
    sorted.push_back({run.keys, 1});
    expected += rate_of(run);
  }
  json->BeginObject().Key("name").String(name).Key("allocation");
  if (family.target >= kMinBitsPerKey) {
    const double average = family.bits.AverageBits();
    json->String("levels").Key("layout").String(LayoutName(family.layout));
    json->Key("bits_per_key").BeginObject();
    json->Key("asked").Number(family.target, 6);
    json->Key("on_disk").Number(average, 6).EndObject();
    json->Key("false_positives_per_lookup").BeginObject();
    json->Key("expected").Number(expected, 4);
    json->Key("best").Number(AllocateBits(curve, sorted, average).rates, 4);
    json->Key("uniform").Number(UniformBits(curve, sorted, average).rates, 4);
    json->EndObject().Key("writes").BeginArray();
    for (const auto& [origin, last] : family.given) {
      json->BeginObject().Key("as").String(NameOfOrigin(origin));
      json->Key("bits_per_key").Number(last.bits_per_key, 6);
      if (!family.use.use().empty()) {
        json->Key("without_use").Number(last.without_use, 6);
      }
      json->Key("layout").String(last.layout).EndObject();
    }
    json->EndArray().Key("lookups_of_absent_keys").BeginObject();
    for (const auto& [origin, share] : family.use.use()) {
      json->Key(NameOfOrigin(origin)).Number(share, 4);
    }
    json->EndObject();
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

void RunUseCounter::Update(const std::shared_ptr<PolicyStatistics>& source,
                           const std::map<int, double>& weights) {
  sources_.try_emplace(source);
  std::map<int, OriginLookups> added;
  decltype(sources_) now;
  double all = 0;
  double unknown = 0;
  for (auto& [from, seen] : sources_) {
    const auto statistics = from.lock();
    if (statistics == nullptr) continue;
    const FilterRows& rows = now[from] = statistics->RowsSinceStart();
    for (const auto& [filter_class, row] : rows) {
      const RocksDBFilterRow before = seen[filter_class];
      const auto lookups = static_cast<double>(row.lookups - before.lookups);
      all += lookups;
      if (!row.rate_known) {
        unknown += lookups;
        continue;
      }
      const int origin = filter_class.level < 0    ? kUnknownOrigin
                         : filter_class.bottommost ? kBottommost
                                                   : filter_class.level;
      OriginLookups& to = added[origin];
      to.lookups += lookups;
      to.absent += static_cast<double>(row.negatives - before.negatives) +
                   row.expected_false_positives -
                   before.expected_false_positives;
    }
  }
  if (all < kLookupsPerUpdate && now.size() == sources_.size()) return;
  sources_ = std::move(now);
  if (unknown <= kMostUnknown * all) Count(std::move(added), weights);
}

void RunUseCounter::Count(std::map<int, OriginLookups> lookups,
                          const std::map<int, double>& weights) {
  OriginLookups& last = lookups[kBottommost];
  last.lookups += lookups[kUnknownOrigin].lookups;
  last.absent += lookups[kUnknownOrigin].absent;
  // Each lookup finds its key in one run, or asks the last one in vain.
  double count = std::min(last.absent, last.lookups);
  for (const auto& [origin, of] : lookups) {
    if (origin == kUnknownOrigin) continue;
    count += std::max(of.lookups - of.absent, 0.0);
  }
  const double kept = std::exp2(-count / kHalfLife);
  lookups_ = kept * lookups_ + count;
  for (const auto& [origin, weight] : weights) {
    Asked& asked = asked_[origin];
    asked.absent = kept * asked.absent + lookups[origin].absent;
    asked.most = kept * asked.most + count * weight;
  }
  if (lookups_ < kLeastLookups) return;
  for (const auto& [origin, asked] : asked_) {
    if (!(asked.most > 0)) continue;
    const double use = std::clamp(asked.absent / asked.most, 1e-6, 1.0);
    const auto [known, added] = use_.try_emplace(origin, use);
    const double change = use / known->second;
    if (!added && change <= kHysteresis && change >= 1 / kHysteresis) continue;
    known->second = use;
  }
}

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
  if (layout == Layout::kAuto && table.level == 0 && given.slope > 0 &&
      given.share < kFewKeys) {
    const RateCurve& local = CurveOf(Layout::kLocal).curve;
    return {FindLayout(Layout::kLocal, Hash::kMurmurHash2),
            MillibitsOf(
                std::max(local.BitsAtSlope(given.slope), given.bits_per_key))};
  }
  const LayoutRow* const row =
      given.slope > 0 ? all.rows[all.curve.At(given.bits_per_key).option]
                      : FindLayout(layout, Hash::kMurmurHash2, table.level);
  return {row, MillibitsOf(given.bits_per_key)};
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
    most =
        MostBits(family->bits, table, memory.Shared() - memory.bits, unknown);
  }
  if (family->target < kMinBitsPerKey) return {};
  family->bits.SetTarget(family->target, CurveOf(family->layout).curve);
  LevelBits bits = BitsOfTable(family->bits, table, family->layout);
  if (options.filter_memory != 0) {
    bits.millibits_per_key =
        std::max(std::min(bits.millibits_per_key, MillibitsOf(most)),
                 MillibitsOf(options.min_bits_per_key));
  }
  return bits;
}

LevelChoice ChooseByLevel(const PolicyOptions& options,
                          const rocksdb::FilterBuildingContext& context,
                          const std::shared_ptr<PolicyStatistics>& statistics) {
  LevelChoice choice;
  choice.bits = UniformBitsFor(options, context.level_at_creation);
  const std::optional<TableAnnouncement> note =
      TakeAnnouncement(context.column_family_name);
  if (context.reason == rocksdb::TableFileCreationReason::kMisc ||
      context.level_at_creation < 0) {
    return choice;  // SstFileWriter: its level is not known yet
  }
  choice.no_listener = !note.has_value();
  if (choice.no_listener || note->trees == nullptr) return choice;
  NewTable table{context.level_at_creation, context.is_bottommost,
                 context.compaction_style != rocksdb::kCompactionStyleLevel};
  DatabaseTrees& trees = *note->trees;
  const std::lock_guard<std::mutex> lock(trees.mutex);
  while (trees.origins.size() >= kMaxOrigins) {
    trees.origins.erase(trees.origins.begin());
  }
  trees.origins[note->path] = table.Origin();
  const auto it = trees.families.find(context.column_family_name);
  if (it == trees.families.end()) return choice;
  FamilyTree& family = it->second;
  if (options.weights_by_use && options.statistics) {
    family.use.Update(statistics, family.bits.Weights());
  } else {
    family.use = RunUseCounter();
  }
  const RunUse& use = family.use.use();
  const bool returns = options.false_positive_rate == 0;
  family.bits.SetUse(use, options.min_bits_per_key, returns);
  if (context.reason == rocksdb::TableFileCreationReason::kCompaction) {
    const auto [job, silent] = trees.jobs.try_emplace(note->job);
    if (silent) {
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
    family.bits.SetUse({}, 0, returns);
    last.without_use =
        BitsOfTable(family.bits, table, family.layout).millibits_per_key /
        1000.0;
  }
  choice.log_line = LogChange(it->first, &family);
  if (problem != trees.memory_problem) {
    trees.memory_problem = problem;
    if (!problem.empty()) choice.log_line = "[deltabloom] " + problem;
  }
  return choice;
}

std::string MemoryConflict(const rocksdb::DBOptions& db,
                           uint64_t filter_memory) {
  if (filter_memory == 0) return {};
  if (!HasTreeListener(db.listeners)) {
    return "filter_memory needs its listener: add listeners=deltabloom to the "
           "DBOptions of the OPTIONS file, or NewRocksDBFilterListener() to "
           "DBOptions::listeners";
  }
  Validation& known = validation_on_this_thread;
  const Validation now = {&db, db.listeners.front().get(), filter_memory};
  const bool same_open =
      known.db == now.db && known.first_listener == now.first_listener;
  if (!same_open || known.filter_memory == filter_memory) {
    known = now;
    return {};
  }
  return "column families of one database have different values of "
         "filter_memory, " +
         std::to_string(known.filter_memory) + " and " +
         std::to_string(filter_memory) + ": it is the total of all of them";
}

void EndOfValidation() { validation_on_this_thread = {}; }

}  // namespace deltabloom::internal

namespace deltabloom {

std::string RocksDBFilterLevelsPrometheus() {
  std::string memory;
  std::string use;
  for (const auto& [name, trees] : internal::AllTrees()) {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    const std::string database = "{database=" + internal::Label(name);
    const std::string metric = "deltabloom_filter_memory_bytes" + database;
    const internal::Memory of = internal::MemoryOf(*trees, 0);
    memory += metric + ",which=\"asked\"} " + std::to_string(of.asked) + "\n" +
              metric + ",which=\"on_disk\"} " + std::to_string(of.Bytes()) +
              "\n";
    for (const auto& [family_name, family] : trees->families) {
      for (const auto& [origin, share] : family.use.use()) {
        use += "deltabloom_absent_lookups_ratio" + database +
               ",column_family=" + internal::Label(family_name) +
               ",written_as=\"" + internal::NameOfOrigin(origin) + "\"} " +
               internal::NumberText(share, 6) + "\n";
      }
    }
  }
  return "# HELP deltabloom_filter_memory_bytes filter_memory, and on disk.\n"
         "# TYPE deltabloom_filter_memory_bytes gauge\n" +
         memory +
         "# HELP deltabloom_absent_lookups_ratio Share of lookups that query a "
         "run for absent keys.\n"
         "# TYPE deltabloom_absent_lookups_ratio gauge\n" +
         use;
}

std::string RocksDBFilterLevelsJson() {
  internal::JsonWriter json;
  json.BeginObject().Key("databases").BeginArray();
  for (const auto& [name, trees] : internal::AllTrees()) {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    json.BeginObject().Key("path").String(name);
    const internal::Memory memory = internal::MemoryOf(*trees, 0);
    json.Key("filter_memory").BeginObject().Key("asked");
    memory.asked == 0 ? json.Literal("null") : json.Number(memory.asked);
    json.Key("on_disk").Number(memory.Bytes()).EndObject();
    json.Key("column_families").BeginArray();
    for (const auto& [family_name, family] : trees->families) {
      internal::WriteFamily(family_name, family, &json);
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().text();
}

}  // namespace deltabloom
