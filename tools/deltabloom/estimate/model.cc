#include "tools/deltabloom/estimate/model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/rocksdb/base/options.h"
#include "table/framing.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"

namespace deltabloom::tools {
namespace {

using internal::LayoutRow;
using internal::Plan;
using internal::PolicyOptions;

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

LevelFilters Deltabloom(const LayoutRow* row, double keys, uint32_t millibits) {
  LevelFilters filter;
  const auto count = static_cast<uint64_t>(std::max(1.0, std::round(keys)));
  const Plan plan = internal::PlanFilter(row, count, millibits);
  filter.bytes =
      static_cast<double>(plan.payload_size + internal::kSealedFramingSize);
  filter.rate = internal::PlanRate(plan);
  filter.build_bytes = static_cast<double>(
      internal::PeakBuildBytes(plan, count * row->hash_size, false));
  filter.layout = plan.layout->name;
  return filter;
}

struct Row {
  const char* filter;
  const char* policy;  // BITS stands for bits_per_key
  LevelFilters (*rocksdb)(double keys, double bits) = nullptr;
};

constexpr Row kRows[] = {
    {"rocksdb-bloom", "", RocksDBBloom},
    {"rocksdb-ribbon", "", RocksDBRibbon},
    {"classic", "deltabloom:BITS:classic"},
    {"local", "deltabloom:BITS:local"},
    {"compact, uniform",
     "{id=deltabloom;bits_per_key=BITS;upper_bits_per_key=BITS}"},
    {"compact", "deltabloom:BITS"},
};

// RocksDB's own policies give all tables the same bits.
PolicyOptions OptionsOf(const Row& row, double bits) {
  PolicyOptions options;
  options.bits_per_key = bits;
  options.upper_bits_per_key = bits;
  if (row.rocksdb == nullptr) {
    options = {};
    internal::ParsePolicyOptions(PolicyText(row.policy, bits), &options);
  }
  return options;
}

// Sums up the levels of the estimate, which are known.
void SumUp(const std::vector<TreeLevel>& tree, FilterEstimate* estimate) {
  double keys = 0;
  double wasted = 0;  // by the lookups of each key once
  for (size_t i = 0; i < tree.size(); ++i) {
    const TreeLevel& level = tree[i];
    const LevelFilters& filters = estimate->levels[i];
    // A lookup of a present key asks the filters of newer runs. Within level 0
    // half of the other tables are newer.
    wasted += level.keys * (estimate->absent_reads +
                            std::max(level.runs - 1, 0.0) / 2 * filters.rate);
    keys += level.keys;
    estimate->bytes += filters.bytes;
    estimate->absent_reads += level.runs * filters.rate;
    estimate->build_bytes =
        std::max(estimate->build_bytes, filters.build_bytes);
  }
  estimate->present_reads = 1 + (keys > 0 ? wasted / keys : 0);
}

FilterEstimate Estimate(const Row& row, const std::vector<TreeLevel>& tree,
                        double bits) {
  const PolicyOptions options = OptionsOf(row, bits);
  FilterEstimate estimate;
  estimate.filter = row.filter;
  estimate.policy_pattern = row.policy;
  estimate.bits_per_key = bits;
  for (const TreeLevel& level : tree) {
    const uint32_t millibits = level.bottommost
                                   ? options.MillibitsPerKey()
                                   : options.UpperMillibitsPerKey();
    const double keys = level.keys / level.tables;
    LevelFilters filters;
    if (millibits >= internal::kMinMillibitsPerKey) {
      filters = row.rocksdb != nullptr
                    ? row.rocksdb(keys, millibits / 1000.0)
                    : Deltabloom(internal::FindLayout(options.layout), keys,
                                 millibits);
      filters.bits_per_key = millibits / 1000.0;
      filters.bytes *= level.tables;
    }
    estimate.levels.push_back(std::move(filters));
  }
  SumUp(tree, &estimate);
  return estimate;
}

// For a budget of bytes the most bits per key, in steps of a thousandth, that
// are not too much; for one of reads the fewest that are enough.
FilterEstimate Within(const Row& row, const std::vector<TreeLevel>& tree,
                      const Budget& budget) {
  if (budget.bits_per_key > 0) return Estimate(row, tree, budget.bits_per_key);
  const bool by_bytes = budget.bytes > 0;
  uint32_t low = 0;
  uint32_t high = 100001;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const FilterEstimate tried = Estimate(row, tree, middle / 1000.0);
    const bool is_high = by_bytes ? tried.bytes > budget.bytes
                                  : tried.absent_reads <= budget.absent_reads;
    (is_high ? high : low) = middle;
  }
  return Estimate(row, tree, std::min(by_bytes ? low : high, 100000U) / 1000.0);
}

// Returns a reason not to take the filter; empty: none.
std::string Remark(const Row& row, const std::vector<TreeLevel>& tree,
                   const FilterEstimate& estimate, const Budget& budget) {
  if (budget.absent_reads > 0 && estimate.absent_reads > budget.absent_reads) {
    return "does not reach the rate";
  }
  if (budget.bytes > 0 && estimate.bits_per_key < internal::kMinBitsPerKey) {
    return "too few bytes for filters";
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
         size / options.entry_bytes, 1, Tables(size, options.table_bytes),
         /*is_level0=*/false, /*bottommost=*/i == 0});
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

std::string PolicyText(const std::string& pattern, double bits_per_key) {
  constexpr std::string_view kMark = "BITS";
  std::string text = pattern;
  for (size_t at; (at = text.find(kMark)) != text.npos;) {
    text.replace(at, kMark.size(), internal::NumberText(bits_per_key));
  }
  return text;
}

FilterEstimate EstimateOf(const std::vector<TreeLevel>& tree,
                          std::vector<LevelFilters> levels) {
  FilterEstimate estimate;
  estimate.levels = std::move(levels);
  SumUp(tree, &estimate);
  return estimate;
}

double RateInBytes(double keys, double bytes) {
  const double bits =
      8 * (bytes - internal::kSealedFramingSize) / std::max(keys, 1.0);
  if (bits < internal::kMinBitsPerKey) return 1;
  return Deltabloom(
             internal::FindLayoutOfName("compact"), keys,
             internal::ToMillibits(std::min(bits, internal::kMaxBitsPerKey)))
      .rate;
}

}  // namespace deltabloom::tools
