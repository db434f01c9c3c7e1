// The counters of a policy, which its builders and readers share. Their meaning
// is in deltabloom/rocksdb_statistics.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>

#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/statistics/lookup_cells.h"
#include "rocksdb/filter_policy.h"
#include "table/framing.h"
#include "util/mutex.h"
#include "util/parsed_filter.h"

namespace deltabloom::internal {

// Where figures of whole filters are counted; those of lookups are counted by
// thread (lookup_cells.h).
enum class FilterCounter : uint8_t {
  kFiltersBuilt,
  kBytesBuilt,
  kKeysBuilt,
  kFiltersOpen,
  kBytesOpen,
  kKeysOpen,
  kFiltersLoaded,
  kBytesLoaded,
  kNone,  // the last
};
inline constexpr auto kFilterCounters =
    static_cast<size_t>(FilterCounter::kNone);

// The figures of a RocksDBFilterRow. Counters only grow, and may wrap; gauges
// say what is open now.
struct RowField {
  FilterCounter counter;
  uint64_t RocksDBFilterRow::*member;  // null: expected_false_positives
  bool is_counter;
  const char* name;    // in JSON
  const char* metric;  // of Prometheus
  const char* help;
};
inline constexpr RowField kRowFields[] = {
    {FilterCounter::kFiltersBuilt, &RocksDBFilterRow::filters_built, true,
     "filters_built", "filters_built_total",
     "Filters built, by the level their tables were written for."},
    {FilterCounter::kBytesBuilt, &RocksDBFilterRow::bytes_built, true,
     "bytes_built", "filters_built_bytes_total", "Bytes of the filters built."},
    {FilterCounter::kKeysBuilt, &RocksDBFilterRow::keys_built, true,
     "keys_built", "filters_built_keys_total",
     "Keys and prefixes added to the filters built."},
    {FilterCounter::kFiltersOpen, &RocksDBFilterRow::filters_open, false,
     "filters_open", "filters_open", "Filters that are open."},
    {FilterCounter::kBytesOpen, &RocksDBFilterRow::bytes_open, false,
     "bytes_open", "filters_open_bytes", "Bytes of the open filters."},
    {FilterCounter::kKeysOpen, &RocksDBFilterRow::keys_open, false, "keys_open",
     "filters_open_keys",
     "Keys of the open filters, estimated from their bits or their shape."},
    {FilterCounter::kFiltersLoaded, &RocksDBFilterRow::filters_loaded, true,
     "filters_loaded", "filters_loaded_total",
     "Filters read from their tables, again after each time that the block "
     "cache dropped them."},
    {FilterCounter::kBytesLoaded, &RocksDBFilterRow::bytes_loaded, true,
     "bytes_loaded", "filters_loaded_bytes_total",
     "Bytes of the filters read."},
    {FilterCounter::kNone, &RocksDBFilterRow::lookups, true, "lookups",
     "filter_lookups_total", "Lookups of keys in filters."},
    {FilterCounter::kNone, &RocksDBFilterRow::negatives, true, "negatives",
     "filter_negatives_total",
     "Keys that filters rejected: each a read of a data block saved."},
    {FilterCounter::kNone, nullptr, true, "expected_false_positives",
     "filter_expected_false_positives_total",
     "Absent keys that filters are expected to have let through, by the "
     "negatives and the rate of each filter."},
};

constexpr bool EachCounterHasOneField() {
  for (size_t counter = 0; counter < kFilterCounters; ++counter) {
    int fields = 0;
    for (const RowField& field : kRowFields) {
      if (static_cast<size_t>(field.counter) == counter) ++fields;
    }
    if (fields != 1) return false;
  }
  return true;
}
static_assert(EachCounterHasOneField());

// Adds all figures, and what is known of the rate.
void AddRow(const RocksDBFilterRow& row, RocksDBFilterRow* sum);

// Values of RocksDBFilterRow::layout that are no layouts.
inline constexpr std::string_view kEmptyName = "empty";
inline constexpr std::string_view kAlwaysName = "always";
inline constexpr std::string_view kForeignName = "rocksdb";

// The class under which a filter is counted; `name` is static.
struct FilterClass {
  int level;
  std::string_view name;
  bool bottommost = false;  // not in RocksDBFilterRow, which adds up both

  // The unknown level last.
  bool operator<(const FilterClass& other) const {
    return std::make_tuple(static_cast<unsigned>(level), name, bottommost) <
           std::make_tuple(static_cast<unsigned>(other.level), other.name,
                           other.bottommost);
  }
};

FilterClass ClassOf(std::string_view filter, FilterKind kind);

struct FilterGroup {
  ~FilterGroup() { FreeLookupSlot(slot); }

  void Add(FilterCounter counter, uint64_t change) {
    filters[static_cast<size_t>(counter)].fetch_add(change, kRelaxed);
  }

  const uint32_t slot = NewLookupSlot();                // of its lookups
  std::atomic<uint64_t> filters[kFilterCounters] = {};  // by FilterCounter
};

using FilterRows = std::map<FilterClass, RocksDBFilterRow>;

// The state at the last reset, from which counters are counted.
struct Baseline {
  RocksDBFilterStatistics Since(const FilterRows& now) const;

  FilterRows rows;
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

// The statistics of a policy. They are owned by the policy and by the builders
// and readers that it makes. Thread-safe.
class PolicyStatistics {
 public:
  // The sum of the process to which it was added keeps what it counted.
  ~PolicyStatistics();

  // Returns the counters of a class, which live as long as this object. Throws
  // std::bad_alloc.
  FilterGroup& Group(const FilterClass& filter_class);

  // A filter was built. Without memory it is not counted.
  void CountBuilt(std::string_view filter, FilterKind kind, uint64_t keys);

  RocksDBFilterStatistics Get() const;
  void Reset();

  // Since the beginning, whatever was reset.
  FilterRows RowsSinceStart() const;

 private:
  friend void AddPolicy(Process*, const rocksdb::FilterPolicy*,
                        PolicyStatistics*);

  Process* process_ = nullptr;  // to which it was added
  mutable Mutex mutex_;
  std::map<FilterClass, FilterGroup> groups_ DELTABLOOM_GUARDED_BY(mutex_);
  mutable Mutex baseline_mutex_;  // locked before mutex_
  Baseline baseline_ DELTABLOOM_GUARDED_BY(baseline_mutex_);
};

// Counts a filter as open, and its lookups.
class OpenFilter {
 public:
  // `kind`: kAlways also for a filter that is ignored. Throws std::bad_alloc.
  OpenFilter(std::shared_ptr<PolicyStatistics> statistics,
             std::string_view filter, FilterKind kind,
             const ParsedFilter& parsed);
  ~OpenFilter();
  OpenFilter(const OpenFilter&) = delete;

  // Has no branch on the answer, because it would often be mispredicted.
  void Count(bool may_match) {
    CountLookups(group_->slot, 1, may_match ? 0 : 1,
                 expected_[may_match ? 1 : 0]);
  }

  void Count(const bool* may_match, size_t n) {
    uint64_t matches = 0;
    for (size_t i = 0; i < n; ++i) matches += may_match[i] ? 1 : 0;
    const uint64_t negatives = n - matches;
    CountLookups(group_->slot, n, negatives,
                 static_cast<double>(negatives) * expected_[0]);
  }

 private:
  // `change`: 1, or -1, which wraps around.
  void CountOpen(uint64_t change);

  const std::shared_ptr<PolicyStatistics> statistics_;
  FilterGroup* const group_;
  const uint64_t bytes_;
  uint64_t keys_ = 0;
  // The false positives that are expected for a negative, and for a match.
  double expected_[2] = {0, 0};
};

// The functions of the public header use these. From AddPolicy() on the
// statistics are part of the sum of the process. REQUIRES: they outlive
// RemovePolicy().
void AddPolicy(Process* process, const rocksdb::FilterPolicy* policy,
               PolicyStatistics* statistics);
void RemovePolicy(Process* process, const rocksdb::FilterPolicy* policy);

// These functions concern the statistics of the policy. Both return false if it
// was not added.
bool StatisticsOf(Process* process, const rocksdb::FilterPolicy& policy,
                  RocksDBFilterStatistics* statistics);
bool ResetStatisticsOf(Process* process, const rocksdb::FilterPolicy& policy);
// The sum of all policies that were added.
RocksDBFilterStatistics SumOfPolicies(Process* process);
void ResetSumOfPolicies(Process* process);

}  // namespace deltabloom::internal
