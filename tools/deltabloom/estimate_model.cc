#include "tools/deltabloom/estimate_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "table/framing.h"
#include "util/layouts/layout.h"
#include "util/rates/allocation.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"

namespace deltabloom::tools {
namespace {

using internal::LayoutRow;
using internal::Plan;
using internal::SortedRun;

// The most that --levels accepts; RocksDB's default for num_levels is 7.
constexpr int kMostLevels = 60;

double Tables(double bytes, double table_bytes) {
  return std::max(1.0, std::ceil(bytes / table_bytes));
}

// The size of all levels divided by that of the last one: 1 + 1/T + 1/T^2 ...
double OverLast(double size_ratio, int levels) {
  double sum = 0;
  for (int i = 0; i < levels; ++i) sum += std::pow(size_ratio, -i);
  return sum;
}

// The fewest levels whose first one is no larger than the base.
int LevelsFor(double bytes, const TreeOptions& options) {
  int levels = 1;
  while (levels < kMostLevels &&
         bytes / OverLast(options.size_ratio, levels) *
                 std::pow(options.size_ratio, 1 - levels) >
             options.level_base_bytes) {
    ++levels;
  }
  return levels;
}

// The bytes of metadata behind the bits of RocksDB's Bloom and Ribbon filters.
constexpr double kTrailer = 5;

// One filter of `keys` keys that RocksDB writes.
LevelFilters RocksDBBloom(double keys, double bits) {
  constexpr double kLine = 64;      // bytes of a cache line, one key's bits
  constexpr double kHashBytes = 8;  // of a key, while the filter is built
  LevelFilters filter;
  if (bits < 0.5) return filter;
  bits = std::max(bits, 1.0);
  const double payload = std::ceil(keys * bits / 8 / kLine) * kLine;
  filter.bytes = payload + kTrailer;
  filter.rate = internal::BlockedBloomRate(8 * kLine, keys * kLine / payload,
                                           internal::RocksDBBloomProbes(bits));
  filter.build_bytes = keys * kHashBytes;
  return filter;
}

// Solving takes 16 bytes per slot and 4 for the result. Slots come in blocks of
// 128, each of which takes 16 bytes for a bit of information, so filters of few
// keys store more bits per key.
LevelFilters RocksDBRibbon(double keys, double bits) {
  constexpr double kBuildBytes = 28.5;  // per key, docs/measurements.md
  constexpr double kBlock = 128;        // slots
  LevelFilters filter;
  if (bits < 0.5) return filter;
  const double blocks = std::ceil(keys / kBlock);
  const double pieces =
      std::ceil(blocks * bits / internal::kRocksDBRibbonBitsPerBit);
  const double whole = pieces * kBlock / 8 + kTrailer;
  const double stored = std::ceil(keys * bits / 8);
  filter.bytes = std::max(whole, stored);
  filter.rate = whole > stored ? std::exp2(-pieces / blocks)
                               : internal::RocksDBRibbonRate(bits);
  filter.build_bytes = keys * kBuildBytes;
  return filter;
}

LevelFilters Deltabloom(const LayoutRow* row, double keys, double bits) {
  LevelFilters filter;
  if (bits < 0.5) return filter;
  const auto count = static_cast<uint64_t>(std::max(1.0, std::round(keys)));
  const Plan plan =
      internal::PlanFilter(row, count, internal::ToMillibits(bits));
  filter.bytes =
      static_cast<double>(plan.payload_size + internal::kSealedFramingSize);
  filter.rate = internal::PlanRate(plan);
  filter.build_bytes = static_cast<double>(
      internal::PeakBuildBytes(plan, count * row->hash_size, false));
  filter.layout = plan.layout->name;
  return filter;
}

// Returns how many filters of each level a lookup asks that do not hold its
// key. A lookup of an absent key asks all of them, that of a present key those
// of newer runs. Within level 0 half of the other tables are newer.
std::vector<double> AbsentLookups(const std::vector<TreeLevel>& tree,
                                  double hits) {
  double keys = 0;
  for (const TreeLevel& level : tree) keys += level.keys;
  std::vector<double> lookups;
  double older = keys;
  for (const TreeLevel& level : tree) {
    older -= level.keys;
    const double of_hits =
        older * level.runs + level.keys * std::max(level.runs - 1, 0.0) / 2;
    lookups.push_back((1 - hits) * level.runs +
                      hits * std::max(of_hits, 0.0) / keys);
  }
  return lookups;
}

double FalsePositives(const std::vector<TreeLevel>& tree,
                      const FilterEstimate& estimate, double hits) {
  const std::vector<double> lookups = AbsentLookups(tree, hits);
  double reads = 0;
  for (size_t i = 0; i < tree.size(); ++i) {
    reads += lookups[i] * estimate.levels[i].rate;
  }
  return reads;
}

// The bits per key of each level under allocation=levels, as
// engines/rocksdb/levels/tree_bits.cc gives them in a full tree: if fewer
// lookups than kNeededUse need the last level, bits are given back.
std::vector<double> BitsOfLevels(const std::vector<TreeLevel>& tree,
                                 const internal::RateCurve& curve,
                                 const Budget& budget, double bits) {
  const double least =
      budget.hits > 0 ? std::min(bits, budget.min_bits_per_key) : 0;
  const std::vector<double> lookups = AbsentLookups(tree, budget.hits);
  // AllocateBits ignores a run without lookups, whose keys then would not
  // count. A thousandth of kNeededUse decides nothing.
  constexpr double kLeastUse = internal::kNeededUse / 1000;
  std::vector<SortedRun> runs;
  double use = 1;  // of the last level
  for (size_t i = 0; i < tree.size(); ++i) {
    use = std::max(lookups[i] / tree[i].runs, kLeastUse);
    runs.push_back({tree[i].keys, use * tree[i].runs, nullptr, least});
  }
  if (use < internal::kNeededUse) {
    const internal::Allocation enough = internal::AllocateForRates(
        curve, runs, internal::UniformBits(curve, runs, bits).rates);
    bits = enough.bits / enough.keys;
  }
  std::vector<double> given;
  for (const internal::RunBits& run :
       internal::AllocateBits(curve, runs, bits).runs) {
    given.push_back(run.bits_per_key);
  }
  return given;
}

struct Row {
  const char* filter;
  bool levels;  // allocation=levels
  Layout layout;
  LevelFilters (*rocksdb)(double keys, double bits) = nullptr;
};

constexpr Row kRows[] = {
    {"rocksdb-bloom", false, Layout::kAuto, RocksDBBloom},
    {"rocksdb-ribbon", false, Layout::kAuto, RocksDBRibbon},
    {"classic", false, Layout::kClassic},
    {"local", false, Layout::kLocal},
    {"compact", false, Layout::kCompact},
    {"auto", false, Layout::kAuto},
    {"local", true, Layout::kLocal},
    {"compact", true, Layout::kCompact},
    {"auto", true, Layout::kAuto},
};

// Returns the filter of one table. With allocation=levels it has the best
// layout among those of the row.
LevelFilters MakeFilter(const Row& row, double keys, double bits, int level) {
  if (row.rocksdb != nullptr) return row.rocksdb(keys, bits);
  if (!row.levels) {
    return Deltabloom(
        internal::FindLayout(row.layout, Hash::kMurmurHash2, level), keys,
        bits);
  }
  const internal::LayoutCurve& curve = internal::CurveOf(row.layout);
  return Deltabloom(curve.rows[curve.curve.At(bits).option], keys, bits);
}

// Sums up the levels of the estimate, which are known.
void SumUp(const std::vector<TreeLevel>& tree, double hits,
           FilterEstimate* estimate) {
  for (size_t i = 0; i < tree.size(); ++i) {
    const LevelFilters& filters = estimate->levels[i];
    estimate->keys += tree[i].keys;
    estimate->bytes += filters.bytes;
    estimate->absent_reads += tree[i].runs * filters.rate;
    estimate->build_bytes =
        std::max(estimate->build_bytes, filters.build_bytes);
  }
  // A lookup of a present key also reads its own block.
  estimate->present_reads = 1 + FalsePositives(tree, *estimate, 1);
  estimate->wasted_reads = FalsePositives(tree, *estimate, hits);
}

// Returns the estimate for filters with `bits` per key on average.
FilterEstimate Estimate(const Row& row, const std::vector<TreeLevel>& tree,
                        const Budget& budget, double bits) {
  FilterEstimate estimate;
  estimate.filter = row.filter;
  estimate.allocation = row.levels ? "levels" : "uniform";
  estimate.asked_bits_per_key = bits;
  std::vector<double> given(tree.size(), bits);
  if (row.levels) {
    given =
        BitsOfLevels(tree, internal::CurveOf(row.layout).curve, budget, bits);
  }
  for (size_t i = 0; i < tree.size(); ++i) {
    const TreeLevel& level = tree[i];
    LevelFilters filters =
        MakeFilter(row, level.keys / level.tables, given[i],
                   level.is_level0 ? 0 : static_cast<int>(i) + 1);
    filters.bits_per_key = given[i] < 0.5 ? 0 : given[i];
    filters.bytes *= level.tables;
    estimate.levels.push_back(std::move(filters));
  }
  SumUp(tree, budget.hits, &estimate);
  return estimate;
}

// For a budget of bytes the most bits per key, in steps of a thousandth, that
// are not too much; for one of reads the fewest that are enough.
FilterEstimate Within(const Row& row, const std::vector<TreeLevel>& tree,
                      const Budget& budget) {
  if (budget.bits_per_key > 0) {
    return Estimate(row, tree, budget, budget.bits_per_key);
  }
  const bool by_bytes = budget.bytes > 0;
  uint32_t low = 0;
  uint32_t high = 100001;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const FilterEstimate tried = Estimate(row, tree, budget, middle / 1000.0);
    const bool is_high = by_bytes ? tried.bytes > budget.bytes
                                  : tried.absent_reads <= budget.absent_reads;
    (is_high ? high : low) = middle;
  }
  return Estimate(row, tree, budget, (by_bytes ? low : high) / 1000.0);
}

// Returns a reason not to take the filter; empty: none.
std::string Remark(const Row& row, const std::vector<TreeLevel>& tree,
                   const FilterEstimate& estimate, const Budget& budget) {
  if (budget.absent_reads > 0 && estimate.absent_reads > budget.absent_reads) {
    return "does not reach the rate";
  }
  const LayoutRow* layout = internal::FindLayoutOfName(row.filter);
  if (layout == nullptr || layout->many_keys == 0) return {};
  for (const TreeLevel& level : tree) {
    if (level.keys / level.tables > static_cast<double>(layout->many_keys)) {
      return "too many keys in a filter for its 32-bit hash";
    }
  }
  return {};
}

}  // namespace

std::vector<TreeLevel> BuildTree(const TreeOptions& options) {
  std::vector<TreeLevel> tree;
  if (!(options.keys >= 1)) return tree;
  const double bytes = options.keys * options.entry_bytes;
  const double in_level0 = std::min(
      bytes, std::floor(options.level0_tables) * options.write_buffer_bytes);
  const bool all_in_level0 = options.levels == 0 && in_level0 >= bytes;
  const double level0_bytes =
      all_in_level0 || in_level0 < bytes / 2 ? in_level0 : 0;
  if (level0_bytes > 0) {
    const double tables = Tables(level0_bytes, options.write_buffer_bytes);
    tree.push_back(
        {"level 0", level0_bytes / options.entry_bytes, tables, tables, true});
  }
  const double below = bytes - level0_bytes;
  if (below <= 0) return tree;
  const int levels =
      options.levels > 0 ? options.levels : LevelsFor(below, options);
  const double last = below / OverLast(options.size_ratio, levels);
  for (int i = levels - 1; i >= 0; --i) {
    const double size = last * std::pow(options.size_ratio, -i);
    tree.push_back(
        {i == 0 ? "last level" : "level " + std::to_string(levels - i),
         size / options.entry_bytes, 1, Tables(size, options.table_bytes)});
  }
  return tree;
}

std::vector<FilterEstimate> EstimateFilters(const std::vector<TreeLevel>& tree,
                                            const Budget& budget) {
  std::vector<FilterEstimate> estimates;
  for (const Row& row : kRows) {
    FilterEstimate estimate = Within(row, tree, budget);
    estimate.remark = Remark(row, tree, estimate, budget);
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

FilterEstimate EstimateOf(const std::vector<TreeLevel>& tree,
                          std::vector<LevelFilters> levels, double hits) {
  FilterEstimate estimate;
  estimate.levels = std::move(levels);
  SumUp(tree, hits, &estimate);
  return estimate;
}

FilterEstimate EstimateTotal(const std::vector<TreeLevel>& tree,
                             const Budget& budget) {
  // The policy plans with this share of filter_memory, and keeps the average
  // between these limits (engines/rocksdb/levels/filter_memory.cc).
  constexpr double kPlanned = 1 / (1 + internal::kMostExcess);
  const RocksDBFilterOptions defaults;
  const Row& row = kRows[std::size(kRows) - 1];
  Budget planned = budget;
  planned.bytes *= kPlanned;
  const double bits = Within(row, tree, planned).asked_bits_per_key;
  FilterEstimate estimate = Estimate(
      row, tree, budget,
      std::clamp(bits, defaults.min_bits_per_key, defaults.max_bits_per_key));
  estimate.allocation = "filter_memory";
  estimate.bytes /= kPlanned;
  return estimate;
}

double RateInBytes(double keys, double bytes) {
  const double payload = bytes - internal::kSealedFramingSize;
  return Deltabloom(internal::FindLayoutOfName("compact"), keys,
                    8 * std::max(payload, 0.0) / std::max(keys, 1.0))
      .rate;
}

}  // namespace deltabloom::tools
