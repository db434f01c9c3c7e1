#include "db_bench_ext/db/contenders.h"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "db_bench_ext/common/program.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"

namespace deltabloom::db_reads {
namespace {

using PolicyPointer = std::shared_ptr<const rocksdb::FilterPolicy>;

constexpr char kNone[] = "none";
constexpr char kRibbon[] = "rocksdb-ribbon";
constexpr char kOurs[] = "deltabloom-";
constexpr double kMinBits = internal::RateCurve::kMinBits;

struct VariantName {
  Variant variant;
  const char* ending;
};
constexpr VariantName kVariants[] = {{Variant::kUniform, ""},
                                     {Variant::kByHand, "-by-hand"},
                                     {Variant::kLevels, "-levels"},
                                     {Variant::kRange, "-range"}};

bool IsOurs(const std::string& filter) { return filter.rfind(kOurs, 0) == 0; }

Layout LayoutOf(const std::string& filter) {
  Layout layout = Layout::kAuto;
  ParseLayout(filter.substr(sizeof(kOurs) - 1), &layout);
  return layout;
}

PolicyPointer MakeFilters(const std::string& filter, Variant variant,
                          double bits) {
  if (filter == kRocksDBBloom) {
    return PolicyPointer(rocksdb::NewBloomFilterPolicy(bits));
  }
  if (filter == kRibbon) {
    // At every level: by default RocksDB 7 writes Bloom filters in flushes.
    return PolicyPointer(
        rocksdb::NewRibbonFilterPolicy(bits, /*bloom_before_level=*/-1));
  }
  RocksDBFilterOptions options;
  options.bits_per_key = bits;
  options.layout = LayoutOf(filter);
  if (variant == Variant::kLevels) {
    options.allocation = RocksDBAllocation::kLevels;
  }
  options.range = variant == Variant::kRange;
  std::string error;
  PolicyPointer policy = NewRocksDBFilterPolicy(options, &error);
  if (policy == nullptr) throw std::runtime_error(error);
  return policy;
}

// Delegates by level_at_creation. Uses public headers of RocksDB only, so that
// it is what a user can do without Deltabloom.
class ByHandPolicy final : public rocksdb::FilterPolicy {
 public:
  // A level without a policy has no filters. `reader` reads those of all.
  ByHandPolicy(PolicyPointer reader, std::map<int, PolicyPointer> levels)
      : reader_(std::move(reader)), levels_(std::move(levels)) {}

  const char* Name() const override { return "db_reads.ByHand"; }
  const char* CompatibilityName() const override {
    return reader_->CompatibilityName();
  }

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    const auto found = levels_.find(context.level_at_creation);
    return found == levels_.end()
               ? nullptr
               : found->second->GetBuilderWithContext(context);
  }

  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& filter) const override {
    return reader_->GetFilterBitsReader(filter);
  }

 private:
  const PolicyPointer reader_;
  const std::map<int, PolicyPointer> levels_;
};

// A planned run, newest first.
struct PlannedRun {
  int level;
  double keys;
  uint64_t table_keys;
};

std::vector<PlannedRun> RunsOf(const TreePlan& plan, uint64_t table_keys) {
  std::vector<PlannedRun> runs;
  const auto add = [&](int level, uint64_t keys) {
    const uint64_t tables = (keys + table_keys - 1) / table_keys;
    runs.push_back({level, static_cast<double>(keys), keys / tables});
  };
  if (plan.runs.empty()) add(1, plan.keys);  // grown: nearly all in one run
  for (auto run = plan.runs.rbegin(); run != plan.runs.rend(); ++run) {
    add(run->level, run->keys);
  }
  return runs;
}

double AllKeys(const std::vector<PlannedRun>& runs) {
  double keys = 0;
  for (const PlannedRun& run : runs) keys += run.keys;
  return keys;
}

// Bits per key that filters store, found by building one.
class StoredBits {
 public:
  explicit StoredBits(std::string filter) : filter_(std::move(filter)) {}

  double operator()(double bits, const PlannedRun& run) {
    if (bits < kMinBits) return 0;
    const std::string layout = filter_ != std::string(kOurs) + "auto" ? filter_
                               : run.level == 0 ? "deltabloom-local"
                                                : "deltabloom-compact";
    const auto [found, added] =
        known_.try_emplace({layout + std::to_string(bits), run.table_keys}, 0);
    if (added) found->second = Build(layout, bits, run.table_keys);
    return found->second;
  }

 private:
  static double Build(const std::string& filter, double bits, uint64_t keys) {
    rocksdb::BlockBasedTableOptions table;
    table.optimize_filters_for_memory = false;
    const auto builder = internal::NewBitsBuilder(
        *MakeFilters(filter, Variant::kUniform, bits), table);
    for (uint64_t i = 0; i < keys; ++i) {
      builder->AddKey(rocksdb::Slice(reinterpret_cast<const char*>(&i), 8));
    }
    std::unique_ptr<const char[]> memory;
    return 8 * static_cast<double>(builder->Finish(&memory).size()) /
           static_cast<double>(keys);
  }

  const std::string filter_;
  std::map<std::pair<std::string, uint64_t>, double> known_;
};

constexpr double kSettingStep = 1.0 / 64;

// The largest setting with stored(setting) <= most. Small filters have sizes in
// steps; the upper end of a step has more probes for the same bytes.
template <typename Stored>
double LargestSetting(double most, const Stored& stored) {
  double low = 0, high = 128;
  while (high - low > kSettingStep) {
    const double middle = (low + high) / 2;
    (stored(middle) <= most ? low : high) = middle;
  }
  return low;
}

Policy UniformOfSize(const std::string& filter,
                     const std::vector<PlannedRun>& runs, double bits_per_key) {
  StoredBits stored(filter);
  const double keys = AllKeys(runs);
  const double bits = LargestSetting(bits_per_key, [&](double setting) {
    double sum = 0;
    for (const PlannedRun& run : runs) sum += run.keys * stored(setting, run);
    return sum / keys;
  });
  Policy policy;
  policy.filters = MakeFilters(filter, Variant::kUniform, bits);
  policy.bits = {bits};
  return policy;
}

Policy ByHandOfSize(const std::string& filter,
                    const std::vector<PlannedRun>& runs, double bits_per_key) {
  StoredBits stored(filter);
  std::vector<internal::SortedRun> sorted;
  for (const PlannedRun& run : runs) sorted.push_back({run.keys, 1});
  // Filters of few keys are rounded up to whole blocks.
  Policy policy;
  double target = bits_per_key;
  for (int round = 0; round < 3; ++round) {
    const internal::Allocation best =
        internal::AllocateBits(CurveOfFilter(filter), sorted, target);
    policy.bits.clear();
    double sum = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      const auto size = [&](double bits) { return stored(bits, runs[i]); };
      double bits = LargestSetting(best.runs[i].bits_per_key, size);
      // Few keys: the next step of the size costs next to nothing.
      const double step = size(bits + kSettingStep);
      if (step * runs[i].keys < 0.001 * bits_per_key * AllKeys(runs)) {
        bits = LargestSetting(step, size);
      }
      policy.bits.push_back(bits);
      sum += runs[i].keys * stored(policy.bits.back(), runs[i]);
    }
    target *= bits_per_key * AllKeys(runs) / sum;
  }
  std::map<int, PolicyPointer> levels;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (policy.bits[i] < kMinBits) continue;
    levels.emplace(runs[i].level,
                   MakeFilters(filter, Variant::kUniform, policy.bits[i]));
  }
  policy.filters = std::make_shared<ByHandPolicy>(
      MakeFilters(filter, Variant::kUniform, 10), std::move(levels));
  return policy;
}

}  // namespace

const std::vector<Contender>& Contenders() {
  static const std::vector<Contender>* const all = [] {
    auto* list = new std::vector<Contender>{{kNone, kNone, Variant::kUniform}};
    for (const auto& [variant, ending] : kVariants) {
      for (const char* filter :
           {kRocksDBBloom, kRibbon, "deltabloom-classic", "deltabloom-local",
            "deltabloom-compact", "deltabloom-auto"}) {
        if (variant > Variant::kByHand && !IsOurs(filter)) continue;
        list->push_back({std::string(filter) + ending, filter, variant});
      }
    }
    return list;
  }();
  return *all;
}

Contender FindContender(const std::string& option, const std::string& name) {
  std::vector<std::string> names;
  for (const Contender& contender : Contenders()) {
    if (contender.name == name) return contender;
    names.push_back(contender.name);
  }
  throw bench::UsageError(option + ": '" + name + "' is not one of " +
                          bench::JoinList(names));
}

Policy MakePolicy(const Contender& contender, double bits_per_key) {
  Policy policy;
  if (contender.filter == kNone) return policy;
  if (contender.variant == Variant::kByHand) {
    throw bench::UsageError("--filters: '" + contender.name +
                            "' needs --preset levels with --trees settled");
  }
  policy.filters =
      MakeFilters(contender.filter, contender.variant, bits_per_key);
  policy.bits = {bits_per_key};
  std::string error;
  if (contender.variant == Variant::kLevels) {
    policy.listener = NewRocksDBFilterListener(&error);
  } else if (contender.variant == Variant::kRange) {
    policy.extractor = NewRocksDBRangeExtractor(&error);
  }
  if (!error.empty()) throw std::runtime_error(error);
  return policy;
}

Policy MakePolicyOfSize(const Contender& contender, const TreePlan& plan,
                        uint64_t table_keys, double bits_per_key) {
  if (contender.filter != kNone) {
    const std::vector<PlannedRun> runs = RunsOf(plan, table_keys);
    if (contender.variant == Variant::kUniform) {
      return UniformOfSize(contender.filter, runs, bits_per_key);
    }
    if (contender.variant == Variant::kByHand && plan.growth == nullptr) {
      return ByHandOfSize(contender.filter, runs, bits_per_key);
    }
  }
  return MakePolicy(contender, bits_per_key);
}

const internal::RateCurve& CurveOfFilter(const std::string& filter) {
  static const internal::RateCurve* const bloom =
      new internal::RateCurve({{internal::RocksDBBloomRate, 0, 100}});
  static const internal::RateCurve* const ribbon =
      new internal::RateCurve({{internal::RocksDBRibbonRate, 0, 100}});
  if (filter == kRocksDBBloom) return *bloom;
  if (filter == kRibbon) return *ribbon;
  return internal::CurveOf(LayoutOf(filter)).curve;
}

}  // namespace deltabloom::db_reads
