#include "engines/rocksdb/statistics/statistics.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/statistics/lookup_cells.h"
#include "table/framing.h"
#include "util/layouts/layout.h"
#include "util/mutex.h"
#include "util/parsed_filter.h"

namespace deltabloom::internal {

// The counts of policies that are destroyed, and the last reset of the sum.
struct EarlierCounts {
  FilterRows ended;
  Baseline baseline;
};

namespace {

using rocksdb::FilterPolicy;

// Binds each member to a name: this does not compile if a member is added.
[[maybe_unused]] auto MembersOf(const RocksDBFilterRow& row) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = row;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
}
constexpr size_t kNoFigures = 3;  // level, layout and rate_known
static_assert(std::tuple_size_v<decltype(MembersOf(RocksDBFilterRow()))> ==
                  std::size(kRowFields) + kNoFigures,
              "each figure has a row: without one it has no sum, no reset and "
              "no name in JSON and Prometheus");

const LayoutRow& LayoutOf(std::string_view filter) {
  return *FindLayoutOfLastByte(static_cast<uint8_t>(filter.back()),
                               Hash::kMurmurHash2);
}

RocksDBFilterRow RowOf(const FilterClass& filter_class,
                       const FilterGroup& group) {
  RocksDBFilterRow row;
  row.level = filter_class.level;
  row.layout = filter_class.name;
  row.rate_known =
      filter_class.name != kAlwaysName && filter_class.name != kForeignName;
  const LookupTotals totals = SumLookups(group.slot);
  row.lookups = totals.lookups;
  row.negatives = totals.negatives;
  row.expected_false_positives = totals.expected;
  for (const RowField& field : kRowFields) {
    if (field.counter == FilterCounter::kNone) continue;
    row.*field.member =
        group.filters[static_cast<size_t>(field.counter)].load(kRelaxed);
  }
  return row;
}

void Add(const FilterRows& rows, FilterRows* sum) {
  for (const auto& [filter_class, row] : rows) {
    const auto [at, is_new] = sum->emplace(filter_class, row);
    if (!is_new) AddRow(row, &at->second);
  }
}

void SubtractCounters(const RocksDBFilterRow& row, RocksDBFilterRow* from) {
  for (const RowField& field : kRowFields) {
    if (!field.is_counter || field.member == nullptr) continue;
    from->*field.member -= row.*field.member;
  }
  from->expected_false_positives = std::max(
      0.0, from->expected_false_positives - row.expected_false_positives);
  // A sum that was taken during a lookup may lack its negative.
  from->negatives = std::min(from->negatives, from->lookups);
}

// The sum of all policies that were added, those destroyed included.
FilterRows RowsOfAll(const CountingPolicies& counting) {
  FilterRows rows;
  if (counting.earlier != nullptr) rows = counting.earlier->ended;
  for (const PolicyStatistics* statistics : counting.counting) {
    Add(statistics->RowsSinceStart(), &rows);
  }
  return rows;
}

}  // namespace

FilterClass ClassOf(std::string_view filter, FilterKind kind) {
  // Unknown data has no level.
  if (kind == FilterKind::kForeign) return {-1, kForeignName};
  if (kind == FilterKind::kAlways) return {-1, kAlwaysName};
  const auto [level, bottommost] = ParseLevelByte(SealedLevel(filter));
  const bool empty = kind == FilterKind::kEmpty;
  return {level, empty ? kEmptyName : LayoutOf(filter).name, bottommost};
}

void AddRow(const RocksDBFilterRow& row, RocksDBFilterRow* sum) {
  for (const RowField& field : kRowFields) {
    if (field.member != nullptr) sum->*field.member += row.*field.member;
  }
  sum->expected_false_positives += row.expected_false_positives;
  sum->rate_known = sum->rate_known || row.rate_known;
}

RocksDBFilterStatistics Baseline::Since(const FilterRows& now) const {
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - time;
  RocksDBFilterStatistics statistics;
  statistics.seconds = passed.count();
  for (auto [filter_class, row] : now) {
    const auto before = rows.find(filter_class);
    if (before != rows.end()) SubtractCounters(before->second, &row);
    // Bottommost tables follow the others of their level and layout.
    if (!statistics.rows.empty() && statistics.rows.back().level == row.level &&
        statistics.rows.back().layout == row.layout) {
      AddRow(row, &statistics.rows.back());
    } else {
      statistics.rows.push_back(std::move(row));
    }
  }
  return statistics;
}

PolicyStatistics::~PolicyStatistics() {
  if (process_ == nullptr) return;
  const auto counting = process_->counting.Lock();
  assert(std::none_of(counting->policies.begin(), counting->policies.end(),
                      [&](const auto& added) { return added.second == this; }));
  counting->counting.erase(this);
  // If memory has run out, the sum lacks what this policy counted.
  WithoutThrowing([&] { Add(RowsSinceStart(), &counting->earlier->ended); });
}

FilterGroup& PolicyStatistics::Group(const FilterClass& filter_class) {
  const MutexLock lock(mutex_);
  return groups_[filter_class];
}

void PolicyStatistics::CountBuilt(std::string_view filter, FilterKind kind,
                                  uint64_t keys) {
  WithoutThrowing([&] {
    FilterGroup& group = Group(ClassOf(filter, kind));
    group.Add(FilterCounter::kFiltersBuilt, 1);
    group.Add(FilterCounter::kBytesBuilt, filter.size());
    group.Add(FilterCounter::kKeysBuilt, keys);
  });
}

FilterRows PolicyStatistics::RowsSinceStart() const {
  const MutexLock lock(mutex_);
  FilterRows rows;
  for (const auto& [filter_class, group] : groups_) {
    rows.emplace(filter_class, RowOf(filter_class, group));
  }
  return rows;
}

RocksDBFilterStatistics PolicyStatistics::Get() const {
  const MutexLock lock(baseline_mutex_);
  return baseline_.Since(RowsSinceStart());
}

void PolicyStatistics::Reset() {
  const MutexLock lock(baseline_mutex_);
  baseline_ = {RowsSinceStart()};
}

void AddPolicy(Process* process, const FilterPolicy* policy,
               PolicyStatistics* statistics) {
  {
    const auto counting = process->counting.Lock();
    if (counting->earlier == nullptr) {
      counting->earlier = std::make_shared<EarlierCounts>();
    }
    counting->counting.insert(statistics);
    statistics->process_ = process;
    counting->policies[policy] = statistics;
  }
  const auto policy_was_made = process->policy_was_made.load();
  if (policy_was_made != nullptr) policy_was_made();
}

void RemovePolicy(Process* process, const FilterPolicy* policy) {
  process->counting.Lock()->policies.erase(policy);
}

bool StatisticsOf(Process* process, const FilterPolicy& policy,
                  RocksDBFilterStatistics* statistics) {
  const auto counting = process->counting.Lock();
  const auto found = counting->policies.find(&policy);
  if (found == counting->policies.end()) return false;
  *statistics = found->second->Get();
  return true;
}

bool ResetStatisticsOf(Process* process, const FilterPolicy& policy) {
  const auto counting = process->counting.Lock();
  const auto found = counting->policies.find(&policy);
  if (found == counting->policies.end()) return false;
  found->second->Reset();
  return true;
}

RocksDBFilterStatistics SumOfPolicies(Process* process) {
  const auto counting = process->counting.Lock();
  if (counting->earlier == nullptr) return {};
  return counting->earlier->baseline.Since(RowsOfAll(*counting));
}

void ResetSumOfPolicies(Process* process) {
  const auto counting = process->counting.Lock();
  if (counting->earlier == nullptr) return;
  counting->earlier->baseline = {RowsOfAll(*counting)};
}

OpenFilter::OpenFilter(std::shared_ptr<PolicyStatistics> statistics,
                       std::string_view filter, FilterKind kind,
                       const ParsedFilter& parsed)
    : statistics_(std::move(statistics)),
      group_(&statistics_->Group(ClassOf(filter, kind))),
      bytes_(filter.size()) {
  if (kind == FilterKind::kFilter) {
    const ContentEstimate estimate = LayoutOf(filter).estimate(parsed);
    keys_ = static_cast<uint64_t>(estimate.keys + 0.5);
    // A filter of rate 1 has no negatives from which lookups of absent keys
    // could be estimated, and 1 - rate is a divisor below.
    constexpr double kHighestRate = 0.999999;
    const double rate = std::min(estimate.rate, kHighestRate);
    expected_[0] = rate / (1 - rate);
  }
  CountOpen(1);
  group_->Add(FilterCounter::kFiltersLoaded, 1);
  group_->Add(FilterCounter::kBytesLoaded, bytes_);
}

OpenFilter::~OpenFilter() { CountOpen(-uint64_t{1}); }

void OpenFilter::CountOpen(uint64_t change) {
  group_->Add(FilterCounter::kFiltersOpen, change);
  group_->Add(FilterCounter::kBytesOpen, change * bytes_);
  group_->Add(FilterCounter::kKeysOpen, change * keys_);
}

}  // namespace deltabloom::internal

namespace deltabloom {

bool GetRocksDBFilterStatistics(const rocksdb::FilterPolicy& policy,
                                RocksDBFilterStatistics* statistics) {
  return internal::StatisticsOf(&internal::TheProcess(), policy, statistics);
}

RocksDBFilterStatistics GetRocksDBFilterStatistics() {
  return internal::SumOfPolicies(&internal::TheProcess());
}

bool ResetRocksDBFilterStatistics(const rocksdb::FilterPolicy& policy) {
  return internal::ResetStatisticsOf(&internal::TheProcess(), policy);
}

void ResetRocksDBFilterStatistics() {
  internal::ResetSumOfPolicies(&internal::TheProcess());
}

}  // namespace deltabloom
