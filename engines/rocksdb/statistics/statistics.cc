#include "engines/rocksdb/statistics/statistics.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "util/layouts/layout.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::FilterPolicy;
using std::chrono::steady_clock;

constexpr auto kRelaxed = std::memory_order_relaxed;

// The members of a row that only grow, so that a difference of two sums is what
// happened between them; unsigned ones may wrap.
constexpr uint64_t RocksDBFilterRow::*kCounters[] = {
    &RocksDBFilterRow::filters_built,  &RocksDBFilterRow::bytes_built,
    &RocksDBFilterRow::keys_built,     &RocksDBFilterRow::lookups,
    &RocksDBFilterRow::negatives,      &RocksDBFilterRow::range_lookups,
    &RocksDBFilterRow::range_negatives};
constexpr uint64_t RocksDBFilterRow::*kGauges[] = {
    &RocksDBFilterRow::filters_open, &RocksDBFilterRow::bytes_open,
    &RocksDBFilterRow::keys_open};

// The row of that class, all counters 0.
RocksDBFilterRow& RowOf(const FilterClass& filter_class, FilterRows* rows) {
  RocksDBFilterRow& row = (*rows)[filter_class];
  if (row.layout.empty()) {
    row.level = filter_class.level;
    row.layout = filter_class.name;
    row.rate_known =
        filter_class.name != kAlwaysName && filter_class.name != kForeignName;
  }
  return row;
}

void Add(const FilterRows& rows, FilterRows* sum) {
  for (const auto& [filter_class, row] : rows) {
    RocksDBFilterRow& to = RowOf(filter_class, sum);
    for (const auto counter : kCounters) to.*counter += row.*counter;
    for (const auto gauge : kGauges) to.*gauge += row.*gauge;
    to.expected_false_positives += row.expected_false_positives;
  }
}

void SubtractCounters(const FilterRows& rows, FilterRows* from) {
  for (const auto& [filter_class, row] : rows) {
    const auto found = from->find(filter_class);
    if (found == from->end()) continue;
    RocksDBFilterRow& of = found->second;
    for (const auto counter : kCounters) of.*counter -= row.*counter;
    of.expected_false_positives = std::max(
        0.0, of.expected_false_positives - row.expected_false_positives);
    // A sum that was taken amid a lookup may lack its negative.
    of.negatives = std::min(of.negatives, of.lookups);
    of.range_negatives = std::min(of.range_negatives, of.range_lookups);
  }
}

RocksDBFilterRow RowOfGroup(const FilterGroup& group) {
  RocksDBFilterRow row;
  const LookupTotals totals = SumLookups(group.slot);
  row.lookups = totals.lookups;
  row.negatives = totals.negatives;
  row.expected_false_positives = totals.expected;
  const LookupTotals ranges = SumLookups(group.range_slot);
  row.range_lookups = ranges.lookups;
  row.range_negatives = ranges.negatives;
  row.filters_built = group.filters_built.load(kRelaxed);
  row.bytes_built = group.bytes_built.load(kRelaxed);
  row.keys_built = group.keys_built.load(kRelaxed);
  row.filters_open = group.filters_open.load(kRelaxed);
  row.bytes_open = group.bytes_open.load(kRelaxed);
  row.keys_open = group.keys_open.load(kRelaxed);
  return row;
}

RocksDBFilterStatistics MakeStatistics(const FilterRows& rows,
                                       steady_clock::time_point since) {
  RocksDBFilterStatistics statistics;
  statistics.seconds =
      std::chrono::duration<double>(steady_clock::now() - since).count();
  for (const auto& [filter_class, row] : rows) statistics.rows.push_back(row);
  return statistics;
}

// All policies of the process. Its mutex comes before those of policies.
struct Process {
  std::mutex mutex;
  std::map<const FilterPolicy*, std::shared_ptr<PolicyStatistics>> policies;
  std::set<const PolicyStatistics*> counting;  // policies may be gone already
  FilterRows ended;
  FilterRows before_reset;
  steady_clock::time_point since = steady_clock::now();

  FilterRows RowsSinceStart() const {
    FilterRows rows = ended;
    for (const PolicyStatistics* statistics : counting) {
      Add(statistics->RowsSinceStart(), &rows);
    }
    return rows;
  }
};

std::atomic<pid_t> counting_process{0};

// Never destroyed: readers may outlive static objects.
Process& TheProcess() {
  static Process& process = *new Process;
  return process;
}

std::shared_ptr<PolicyStatistics> Find(const FilterPolicy& policy) {
  Process& process = TheProcess();
  const std::lock_guard<std::mutex> lock(process.mutex);
  const auto found = process.policies.find(&policy);
  return found == process.policies.end() ? nullptr : found->second;
}

}  // namespace

FilterClass ClassOf(std::string_view filter, FilterKind kind) {
  // Unknown data has no level.
  if (kind == FilterKind::kForeign) return {-1, kForeignName};
  if (kind == FilterKind::kAlways) return {-1, kAlwaysName};
  const int level = ParseLevelByte(SealedLevel(filter)).level;
  if (kind == FilterKind::kEmpty) return {level, kEmptyName};
  return {level, FindLayoutOfLastByte(static_cast<uint8_t>(filter.back()),
                                      Hash::kMurmurHash2)
                     ->name};
}

bool CountsInThisProcess() { return counting_process == getpid(); }

PolicyStatistics::PolicyStatistics() : since_(steady_clock::now()) {
  counting_process = getpid();
  Process& process = TheProcess();
  const std::lock_guard<std::mutex> lock(process.mutex);
  process.counting.insert(this);
}

PolicyStatistics::~PolicyStatistics() {
  Process& process = TheProcess();
  const std::lock_guard<std::mutex> lock(process.mutex);
  process.counting.erase(this);
  try {
    Add(RowsSinceStart(), &process.ended);
  } catch (const std::exception&) {
    // Out of memory: the sum lacks what this policy counted.
  }
  for (const auto& [filter_class, group] : groups_) {
    FreeLookupSlot(group->slot);
    FreeLookupSlot(group->range_slot);
  }
}

FilterGroup& PolicyStatistics::Group(const FilterClass& filter_class) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = groups_.find(filter_class);
  if (found != groups_.end()) return *found->second;
  std::unique_ptr<FilterGroup>& group = groups_[filter_class];
  try {
    group = std::make_unique<FilterGroup>();
  } catch (const std::exception&) {
    groups_.erase(filter_class);
    throw;
  }
  return *group;
}

void PolicyStatistics::CountBuilt(std::string_view filter, FilterKind kind,
                                  uint64_t keys) {
  try {
    FilterGroup& group = Group(ClassOf(filter, kind));
    group.filters_built.fetch_add(1, kRelaxed);
    group.bytes_built.fetch_add(filter.size(), kRelaxed);
    group.keys_built.fetch_add(keys, kRelaxed);
    Tick();
  } catch (const std::exception&) {
    // Out of memory, at the first filter of a class.
  }
}

FilterRows PolicyStatistics::RowsSinceStart() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Rows();
}

FilterRows PolicyStatistics::Rows() const {
  FilterRows rows;
  for (const auto& [filter_class, group] : groups_) {
    Add({{filter_class, RowOfGroup(*group)}}, &rows);
  }
  return rows;
}

RocksDBFilterStatistics PolicyStatistics::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  FilterRows rows = Rows();
  SubtractCounters(before_reset_, &rows);
  return MakeStatistics(rows, since_);
}

void PolicyStatistics::Reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  before_reset_ = Rows();
  since_ = steady_clock::now();
}

void AddPolicy(const FilterPolicy* policy,
               const std::shared_ptr<PolicyStatistics>& statistics) {
  Process& process = TheProcess();
  const std::lock_guard<std::mutex> lock(process.mutex);
  process.policies[policy] = statistics;
}

void RemovePolicy(const FilterPolicy* policy) {
  Process& process = TheProcess();
  std::shared_ptr<PolicyStatistics> last;  // dies after the lock
  const std::lock_guard<std::mutex> lock(process.mutex);
  const auto found = process.policies.find(policy);
  if (found == process.policies.end()) return;
  last = std::move(found->second);
  process.policies.erase(found);
}

}  // namespace deltabloom::internal

namespace deltabloom {

bool GetRocksDBFilterStatistics(const ROCKSDB_NAMESPACE::FilterPolicy& policy,
                                RocksDBFilterStatistics* statistics) {
  const auto found = internal::Find(policy);
  if (found == nullptr) return false;
  *statistics = found->Get();
  return true;
}

RocksDBFilterStatistics GetRocksDBFilterStatistics() {
  internal::Process& process = internal::TheProcess();
  const std::lock_guard<std::mutex> lock(process.mutex);
  internal::FilterRows rows = process.RowsSinceStart();
  internal::SubtractCounters(process.before_reset, &rows);
  return internal::MakeStatistics(rows, process.since);
}

bool ResetRocksDBFilterStatistics(
    const ROCKSDB_NAMESPACE::FilterPolicy& policy) {
  const auto found = internal::Find(policy);
  if (found == nullptr) return false;
  found->Reset();
  return true;
}

void ResetRocksDBFilterStatistics() {
  internal::Process& process = internal::TheProcess();
  const std::lock_guard<std::mutex> lock(process.mutex);
  process.before_reset = process.RowsSinceStart();
  process.since = std::chrono::steady_clock::now();
}

}  // namespace deltabloom
