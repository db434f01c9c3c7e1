#include "tools/deltabloom/estimate/families.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "engines/rocksdb/base/filter_total.h"
#include "engines/rocksdb/base/options.h"
#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/database/filter_use.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/estimate/model.h"
#include "tools/deltabloom/estimate/text.h"
#include "util/layouts/layout.h"

namespace deltabloom::tools {
namespace {

// The run of the tree that a table belongs to; a new one for a table of level
// 0, and for the first one of another level.
struct Run {
  TreeLevel level;
  LevelFilters now;
  LevelFilters after;  // deltabloom refilter
  Reads reads;
  Reads reads_after;
  int number = 0;
};

// The least share of the lookups that a run has. It is a divisor, and a run of
// a single key has the share 0, because no absent key is between two equal
// ones. It is too small to show in any figure.
constexpr double kLeastShareOfRun = 1e-9;

// Returns whether deltabloom refilter can replace the filter.
bool CanBeRefiltered(const DatabaseTable& table) {
  return table.compatibility_name == "rocksdb.BuiltinBloomFilter" &&
         table.use.kind != "per block" && table.filter_bytes > 0 &&
         !table.has_checksum;
}

std::string KindText(const FilterUse& use) {
  if (use.kind.empty()) return "none";
  return use.kind + (use.used == false ? " (not used)" : "");
}

void AddTable(const DatabaseTable& table, bool bottommost, Family* family,
              std::vector<Run>* runs) {
  const auto keys = static_cast<double>(table.filter_keys);
  const auto filter_bytes = static_cast<double>(table.filter_bytes);
  const std::optional<double> rate = table.use.RateInUse();
  Level& level = family->levels[table.level];
  ++level.tables;
  level.keys += keys;
  level.bytes += static_cast<double>(table.bytes);
  level.filter_bytes += filter_bytes;
  level.asked += table.share_of_lookups;
  ++level.kinds[KindText(table.use)];
  level.reads.Add(rate, table.share_of_lookups);
  family->keys += keys;
  family->bytes += static_cast<double>(table.bytes);
  family->range_filter_bytes += static_cast<double>(table.range_filter_bytes);
  family->all.Add(table);
  family->tables.push_back({table.entries, bottommost});
  // No filter has keys where there are deletions of ranges only.
  if (keys == 0) return;

  if (table.level == 0 || runs->empty() || runs->back().number != table.level) {
    Run run;
    run.number = table.level;
    run.level.name = "level " + std::to_string(table.level);
    run.level.is_level0 = table.level == 0;
    run.level.bottommost = bottommost;
    run.level.runs = 0;
    run.level.tables = 0;
    runs->push_back(run);
  }
  Run& run = runs->back();
  run.level.keys += keys;
  run.level.runs += table.share_of_lookups;
  ++run.level.tables;
  run.now.bytes += filter_bytes;
  run.reads.Add(rate, table.share_of_lookups);
  std::optional<double> after = rate;
  if (CanBeRefiltered(table)) {
    const auto filters =
        static_cast<double>(std::max<uint64_t>(table.filter_partitions, 1));
    const double better = RateInBytes(keys / filters, filter_bytes / filters);
    if (better <= kMostLeftByRefilter * rate.value_or(1)) {
      after = better;
      family->by_refilter.Add(table);
    }
  }
  run.reads_after.Add(after, table.share_of_lookups);
}

}  // namespace

std::vector<Family> FamiliesOf(const Database& database) {
  // From the newest run to the oldest: in level 0 newer tables have higher
  // numbers, and so later names.
  std::map<std::string, std::map<int, std::vector<const DatabaseTable*>>> all;
  for (auto table = database.tables.rbegin(); table != database.tables.rend();
       ++table) {
    if (table->level >= 0) all[table->family][table->level].push_back(&*table);
  }
  std::vector<Family> families;
  for (const auto& [name, levels] : all) {
    Family& family = families.emplace_back();
    family.name = name;
    family.options = database.options.Find(name);
    std::vector<Run> runs;
    for (const auto& [number, tables] : levels) {
      const bool bottommost =
          family.IsFifo() || (number > 0 && number == levels.rbegin()->first);
      for (const DatabaseTable* table : tables) {
        AddTable(*table, bottommost, &family, &runs);
      }
    }
    std::vector<LevelFilters> now;
    std::vector<LevelFilters> after;
    bool known = true;
    for (Run& run : runs) {
      run.level.runs = std::max(run.level.runs, kLeastShareOfRun);
      run.now.bits_per_key = 8 * run.now.bytes / run.level.keys;
      run.after = run.now;
      known = known && run.reads.Sum().has_value();
      run.now.rate = run.reads.Sum().value_or(1) / run.level.runs;
      run.after.rate = run.reads_after.Sum().value_or(1) / run.level.runs;
      family.tree.push_back(run.level);
      now.push_back(run.now);
      after.push_back(run.after);
    }
    if (known) {
      family.now = EstimateOf(family.tree, std::move(now));
      family.now->filter = "now";
    }
    family.refiltered = EstimateOf(family.tree, std::move(after));
    family.refiltered.filter = "refilter";
  }
  return families;
}

internal::PolicyOptions PolicyOf(const Family& family) {
  internal::PolicyOptions options;
  if (family.HasDeltabloom()) {
    internal::ParsePolicyOptions(family.options->policy, &options);
  }
  return options;
}

Total FitTotal(double bytes, const std::vector<Family>& families) {
  std::vector<internal::TableKeys> tables;
  for (const Family& family : families) {
    tables.insert(tables.end(), family.tables.begin(), family.tables.end());
  }
  Total total;
  const auto found =
      std::find_if(families.begin(), families.end(),
                   [](const Family& family) { return family.HasDeltabloom(); });
  if (found != families.end()) total.options.layout = PolicyOf(*found).layout;
  const auto bytes_of_filters = [&] {
    return static_cast<double>(internal::FilterBytesOf(tables, total.options));
  };
  if (!internal::FitTotal(tables, static_cast<uint64_t>(bytes),
                          &total.options)) {
    total.options.bits_per_key = internal::kMinBitsPerKey;
    RejectTotal(bytes, bytes_of_filters());
  }
  total.bytes = bytes_of_filters();
  return total;
}

void EstimateFamilies(const Budget& asked, const std::optional<Total>& total,
                      std::vector<Family>* families) {
  for (Family& family : *families) {
    if (!(family.keys > 0)) continue;
    Budget budget;
    if (total.has_value()) {
      budget.bytes = static_cast<double>(
          internal::FilterBytesOf(family.tables, total->options));
    } else if (asked.bits_per_key > 0) {
      budget.bits_per_key = asked.bits_per_key;
    } else if (family.FilterBytes() > 0) {
      budget.bytes = family.FilterBytes();
    } else {
      budget.bits_per_key = 10;
    }
    family.filters = EstimateFilters(family.tree, budget);
    if (total.has_value()) {
      // Averages over tables are some thousandths of a bit off.
      const std::vector<FilterEstimate> exact =
          EstimateFilters(family.tree, {total->options.bits_per_key});
      const std::string layout = LayoutName(total->options.layout);
      for (size_t i = 0; i < exact.size(); ++i) {
        if (exact[i].filter == layout) family.filters[i] = exact[i];
      }
    }
    const FilterEstimate now = family.now.value_or(FilterEstimate());
    family.reads = asked.absent_reads > 0 ? asked.absent_reads
                   : now.bytes > 0        ? now.absent_reads
                                          : 0;
    if (!(family.reads > 0)) continue;
    family.same_reads = EstimateFilters(family.tree, {0, 0, family.reads});
  }
}

}  // namespace deltabloom::tools
