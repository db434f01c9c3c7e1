#include "db_bench_ext/db/contenders.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/db/tree.h"
#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "util/rates/allocation.h"
#include "util/rates/layout_rates.h"
#include "util/rates/rates.h"

namespace deltabloom::db_reads {
namespace {

using PolicyPointer = std::shared_ptr<const rocksdb::FilterPolicy>;

constexpr char kNoFilter[] = "none";
constexpr char kRibbon[] = "rocksdb-ribbon";
constexpr char kOurPrefix[] = "deltabloom-";

constexpr std::pair<Variant, const char*> kVariants[] = {
    {Variant::kUniform, ""},
    {Variant::kByHand, "-by-hand"},
    {Variant::kLevels, "-levels"},
    {Variant::kRefilter, "-refilter"}};

bool IsOurs(const std::string& filter) {
  return filter.rfind(kOurPrefix, 0) == 0;
}

Layout LayoutOf(const std::string& filter) {
  Layout layout = Layout::kAuto;
  ParseLayout(filter.substr(sizeof(kOurPrefix) - 1), &layout);
  return layout;
}

PolicyPointer MakeFilters(const std::string& filter, Variant variant,
                          double bits) {
  if (filter == kRocksDBBloom) {
    return PolicyPointer(rocksdb::NewBloomFilterPolicy(bits));
  }
  if (filter == kRibbon) {
    // Ribbon filters are used at every level. By default RocksDB 7 writes Bloom
    // filters in flushes.
    return PolicyPointer(
        rocksdb::NewRibbonFilterPolicy(bits, /*bloom_before_level=*/-1));
  }
  RocksDBFilterOptions options;
  options.bits_per_key = bits;
  options.layout = LayoutOf(filter);
  if (variant == Variant::kLevels) {
    options.allocation = RocksDBAllocation::kLevels;
  }
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
  for (auto run = plan.runs.rbegin(); run != plan.runs.rend(); ++run) {
    const uint64_t tables = (run->keys + table_keys - 1) / table_keys;
    runs.push_back(
        {run->level, static_cast<double>(run->keys), run->keys / tables});
  }
  return runs;
}

// Stored bits per key, found by building a filter.
double StoredBits(const std::string& filter, double bits,
                  const PlannedRun& run) {
  rocksdb::BlockBasedTableOptions table;
  table.optimize_filters_for_memory = false;
  rocksdb::FilterBuildingContext context(table);
  context.level_at_creation = run.level;
  const PolicyPointer policy = MakeFilters(filter, Variant::kUniform, bits);
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
      policy->GetBuilderWithContext(context));
  if (builder == nullptr) return 0;
  for (uint64_t i = 0; i < run.table_keys; ++i) {
    builder->AddKey(rocksdb::Slice(reinterpret_cast<const char*>(&i), 8));
  }
  std::unique_ptr<const char[]> memory;
  return 8 * static_cast<double>(builder->Finish(&memory).size()) /
         static_cast<double>(run.table_keys);
}

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
  const double bits = LargestSetting(bits_per_key, [&](double setting) {
    double sum = 0, keys = 0;
    for (const PlannedRun& run : runs) {
      sum += run.keys * StoredBits(filter, setting, run);
      keys += run.keys;
    }
    return sum / keys;
  });
  Policy policy;
  policy.filters = MakeFilters(filter, Variant::kUniform, bits);
  policy.bits = {bits};
  return policy;
}

Policy ByHandOfSize(const std::string& filter,
                    const std::vector<PlannedRun>& runs, double bits_per_key) {
  std::vector<internal::SortedRun> sorted;
  for (const PlannedRun& run : runs) sorted.push_back({run.keys, 1});
  const internal::Allocation best =
      internal::AllocateBits(CurveOfFilter(filter), sorted, bits_per_key);
  Policy policy;
  std::map<int, PolicyPointer> levels;
  for (size_t i = 0; i < runs.size(); ++i) {
    const PlannedRun& run = runs[i];
    const auto stored = [&](double bits) {
      return StoredBits(filter, bits, run);
    };
    double bits = LargestSetting(best.runs[i].bits_per_key, stored);
    // Few keys: the next step of the size costs next to nothing.
    const double step = stored(bits + kSettingStep);
    if (step * run.keys < 0.001 * best.bits)
      bits = LargestSetting(step, stored);
    policy.bits.push_back(bits);
    levels.emplace(run.level, MakeFilters(filter, Variant::kUniform, bits));
  }
  policy.filters = std::make_shared<ByHandPolicy>(
      MakeFilters(filter, Variant::kUniform, 10), std::move(levels));
  return policy;
}

}  // namespace

const std::vector<Contender>& Contenders() {
  static const std::vector<Contender>* const all = [] {
    auto* list =
        new std::vector<Contender>{{kNoFilter, kNoFilter, Variant::kUniform}};
    for (const auto& [variant, ending] : kVariants) {
      for (const char* filter :
           {kRocksDBBloom, kRibbon, "deltabloom-classic", "deltabloom-local",
            "deltabloom-compact", "deltabloom-auto"}) {
        const bool replaced = variant == Variant::kRefilter;
        if (variant > Variant::kByHand && IsOurs(filter) == replaced) continue;
        list->push_back({std::string(filter) + ending, filter, variant});
      }
    }
    return list;
  }();
  return *all;
}

Contender FindContender(const std::string& option, const std::string& name) {
  for (const Contender& contender : Contenders()) {
    if (contender.name == name) return contender;
  }
  throw bench::UsageError(option + ": '" + name + "' is unknown");
}

Policy MakePolicy(const Contender& contender, double bits_per_key) {
  Policy policy;
  if (contender.filter == kNoFilter) return policy;
  policy.filters =
      MakeFilters(contender.filter, contender.variant, bits_per_key);
  policy.bits = {bits_per_key};
  std::string error;
  if (contender.variant == Variant::kRefilter) {
    std::map<int, PolicyPointer> levels;
    for (int level = 0; level < 7; ++level) levels[level] = policy.filters;
    policy.filters = std::make_shared<ByHandPolicy>(
        MakeFilters("deltabloom-compact", Variant::kUniform, bits_per_key),
        std::move(levels));
  }
  if (contender.variant == Variant::kLevels) {
    policy.listener = NewRocksDBFilterListener(&error);
  }
  if (!error.empty()) throw std::runtime_error(error);
  return policy;
}

Policy MakePolicyOfSize(const Contender& contender, const TreePlan& plan,
                        uint64_t table_keys, double bits_per_key) {
  if (contender.filter != kNoFilter) {
    const std::vector<PlannedRun> runs = RunsOf(plan, table_keys);
    if (contender.variant == Variant::kUniform) {
      return UniformOfSize(contender.filter, runs, bits_per_key);
    }
    if (contender.variant == Variant::kByHand) {
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
