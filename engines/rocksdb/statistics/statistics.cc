#include "engines/rocksdb/statistics/statistics.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/process_wide.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

__thread LookupCells this_threads_cells = {nullptr, 0};
std::atomic<TickFunction> lookup_tick{nullptr};

namespace {

using rocksdb::FilterPolicy;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint32_t kFewestCells = 16;
__thread bool this_thread_ended = false;

LookupTotals Read(const LookupCell& cell) {
  const uint64_t negatives = cell.negatives.load(std::memory_order_acquire);
  return {cell.lookups.load(kRelaxed), negatives, cell.expected.load(kRelaxed)};
}

void Add(const LookupTotals& part, LookupTotals* sum) {
  sum->lookups += part.lookups;
  sum->negatives += part.negatives;
  sum->expected += part.expected;
}

void Write(const LookupTotals& totals, LookupCell* cell) {
  cell->lookups.store(totals.lookups, kRelaxed);
  cell->negatives.store(totals.negatives, kRelaxed);
  cell->expected.store(totals.expected, kRelaxed);
}

// The cells of all threads, and the counts of threads that ended. Only the
// thread itself changes which cells it has, with the mutex held.
struct AllCells {
  std::vector<LookupCells*> threads;
  std::vector<LookupTotals> ended;  // by slot
  std::vector<uint32_t> free_slots;
};

// Cells for at least `size` slots, with the mutex held. Throws std::bad_alloc.
void GrowCells(AllCells* all, uint32_t size) {
  LookupCells& mine = this_threads_cells;
  size = std::max({size, kFewestCells, 2 * mine.size});
  auto cells = std::make_unique<LookupCell[]>(size);
  for (uint32_t i = 0; i < mine.size; ++i) {
    Write(Read(mine.cells[i]), &cells[i]);
  }
  if (mine.cells == nullptr) all->threads.push_back(&mine);
  delete[] mine.cells;
  mine = {cells.release(), size};
}

// Adds what the thread counted to the totals of ended threads.
struct AtEndOfThread {
  // Makes the thread construct it, which registers its destructor.
  void Use() const {}

  ~AtEndOfThread() {
    ProcessWide<AllCells> all;
    LookupCells& mine = this_threads_cells;
    for (uint32_t i = 0; i < mine.size && i < all->ended.size(); ++i) {
      Add(Read(mine.cells[i]), &all->ended[i]);
    }
    all->threads.erase(
        std::remove(all->threads.begin(), all->threads.end(), &mine),
        all->threads.end());
    delete[] mine.cells;
    mine = {nullptr, 0};
    this_thread_ended = true;
  }
};

thread_local const AtEndOfThread at_end_of_thread;

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
  for (size_t i = 0; i < std::size(group.filters); ++i) {
    row.*kRowFields[i].member = group.filters[i].load(kRelaxed);
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

// All policies of the process. Its mutex comes before those of policies.
struct Process {
  std::map<const FilterPolicy*, PolicyStatistics*> policies;
  // Statistics that were added and not destroyed; their policies may be gone
  // already.
  std::set<const PolicyStatistics*> counting;
  FilterRows ended;
  Baseline baseline;

  FilterRows RowsSinceStart() const {
    FilterRows rows = ended;
    for (const PolicyStatistics* statistics : counting) {
      Add(statistics->RowsSinceStart(), &rows);
    }
    return rows;
  }
};

std::atomic<pid_t> counting_process{0};

}  // namespace

uint32_t NewLookupSlot() {
  ProcessWide<AllCells> all;
  if (!all->free_slots.empty()) {
    const uint32_t slot = all->free_slots.back();
    all->free_slots.pop_back();
    return slot;
  }
  // Reserves room, so that freeing a slot cannot fail.
  all->free_slots.reserve(all->ended.size() + 1);
  all->ended.emplace_back();
  return static_cast<uint32_t>(all->ended.size() - 1);
}

void FreeLookupSlot(uint32_t slot) {
  ProcessWide<AllCells> all;
  all->ended[slot] = {};
  for (LookupCells* thread : all->threads) {
    if (slot < thread->size) Write({}, &thread->cells[slot]);
  }
  all->free_slots.push_back(slot);
}

LookupTotals SumLookups(uint32_t slot) {
  ProcessWide<AllCells> all;
  LookupTotals sum = all->ended[slot];
  for (const LookupCells* thread : all->threads) {
    if (slot < thread->size) Add(Read(thread->cells[slot]), &sum);
  }
  return sum;
}

void CountLookupsSlowly(uint32_t slot, uint64_t lookups, uint64_t negatives,
                        double expected) {
  if (!this_thread_ended) at_end_of_thread.Use();
  {
    ProcessWide<AllCells> all;
    if (this_thread_ended ||
        !WithoutThrowing([&] { GrowCells(&*all, slot + 1); })) {
      Add({lookups, negatives, expected}, &all->ended[slot]);
      return;
    }
  }
  CountLookups(slot, lookups, negatives, expected);
}

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

bool CountsInThisProcess() { return counting_process == getpid(); }

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
  ProcessWide<Process> process;
  if (process->counting.erase(this) == 0) return;
  // If memory has run out, the sum lacks what this policy counted.
  WithoutThrowing([&] { Add(RowsSinceStart(), &process->ended); });
}

FilterGroup& PolicyStatistics::Group(const FilterClass& filter_class) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return groups_[filter_class];
}

void PolicyStatistics::CountBuilt(std::string_view filter, FilterKind kind,
                                  uint64_t keys) {
  WithoutThrowing([&] {
    Group(ClassOf(filter, kind))
        .Count(FilterGroup::kBuilt, 1, filter.size(), keys);
    Tick();
  });
}

FilterRows PolicyStatistics::RowsSinceStart() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  FilterRows rows;
  for (const auto& [filter_class, group] : groups_) {
    rows.emplace(filter_class, RowOf(filter_class, group));
  }
  return rows;
}

RocksDBFilterStatistics PolicyStatistics::Get() const {
  const std::lock_guard<std::mutex> lock(baseline_mutex_);
  return baseline_.Since(RowsSinceStart());
}

void PolicyStatistics::Reset() {
  const std::lock_guard<std::mutex> lock(baseline_mutex_);
  baseline_ = {RowsSinceStart()};
}

void AddPolicy(const FilterPolicy* policy, PolicyStatistics* statistics) {
  counting_process = getpid();
  ProcessWide<Process> process;
  process->counting.insert(statistics);
  process->policies[policy] = statistics;
}

void RemovePolicy(const FilterPolicy* policy) {
  ProcessWide<Process> process;
  process->policies.erase(policy);
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
    // A rate of 1 leaves nothing to divide by, and no negatives.
    const double rate = std::min(estimate.rate, 0.999999);
    expected_[0] = rate / (1 - rate);
  }
  group_->Count(FilterGroup::kOpen, 1, bytes_, keys_);
  group_->CountLoaded(bytes_);
  Tick();
}

OpenFilter::~OpenFilter() {
  group_->Count(FilterGroup::kOpen, -uint64_t{1}, -bytes_, -keys_);
}

}  // namespace deltabloom::internal

namespace deltabloom {

bool GetRocksDBFilterStatistics(const rocksdb::FilterPolicy& policy,
                                RocksDBFilterStatistics* statistics) {
  internal::ProcessWide<internal::Process> process;
  const auto found = process->policies.find(&policy);
  if (found == process->policies.end()) return false;
  *statistics = found->second->Get();
  return true;
}

RocksDBFilterStatistics GetRocksDBFilterStatistics() {
  internal::ProcessWide<internal::Process> process;
  return process->baseline.Since(process->RowsSinceStart());
}

bool ResetRocksDBFilterStatistics(const rocksdb::FilterPolicy& policy) {
  internal::ProcessWide<internal::Process> process;
  const auto found = process->policies.find(&policy);
  if (found == process->policies.end()) return false;
  found->second->Reset();
  return true;
}

void ResetRocksDBFilterStatistics() {
  internal::ProcessWide<internal::Process> process;
  process->baseline = {process->RowsSinceStart()};
}

}  // namespace deltabloom
