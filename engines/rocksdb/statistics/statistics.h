// The counters of a policy, and who has them: its builders and readers. What
// they say is deltabloom/rocksdb_statistics.h.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_STATISTICS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_STATISTICS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>

#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/statistics/lookup_counters.h"
#include "rocksdb/rocksdb_namespace.h"
#include "table/framing.h"

namespace ROCKSDB_NAMESPACE {
class FilterPolicy;
}  // namespace ROCKSDB_NAMESPACE

namespace deltabloom::internal {

// The layouts of RocksDBFilterRow that are none.
inline constexpr std::string_view kEmptyName = "empty";
inline constexpr std::string_view kAlwaysName = "always";
inline constexpr std::string_view kForeignName = "rocksdb";

// What a filter counts as; `name` is static.
struct FilterClass {
  int level;
  std::string_view name;

  // The unknown level last.
  bool operator<(const FilterClass& other) const {
    return std::make_tuple(static_cast<unsigned>(level), name) <
           std::make_tuple(static_cast<unsigned>(other.level), other.name);
  }
};

// The class of sealed bytes that turned out to be `kind`.
FilterClass ClassOf(std::string_view filter, FilterKind kind);

// The counters of one class of filters of one policy.
struct FilterGroup {
  FilterGroup() : slot(NewLookupSlot()), range_slot(NewLookupSlot()) {}

  // Of its lookups and its questions about ranges; given back by
  // PolicyStatistics.
  const uint32_t slot;
  const uint32_t range_slot;
  std::atomic<uint64_t> filters_built{0};
  std::atomic<uint64_t> bytes_built{0};
  std::atomic<uint64_t> keys_built{0};
  std::atomic<uint64_t> filters_open{0};
  std::atomic<uint64_t> bytes_open{0};
  std::atomic<uint64_t> keys_open{0};
};

using FilterRows = std::map<FilterClass, RocksDBFilterRow>;

// Owned by a policy and by the builders and readers made through it, whichever
// goes last. Thread-safe.
class PolicyStatistics {
 public:
  PolicyStatistics();
  // What it counted stays in the sum of the process.
  ~PolicyStatistics();
  PolicyStatistics(const PolicyStatistics&) = delete;
  PolicyStatistics& operator=(const PolicyStatistics&) = delete;

  // Lives as long as this. Throws std::bad_alloc.
  FilterGroup& Group(const FilterClass& filter_class);

  // A filter was built. Without memory it is not counted.
  void CountBuilt(std::string_view filter, FilterKind kind, uint64_t keys);

  RocksDBFilterStatistics Get() const;
  void Reset();

  // Since the beginning, whatever was reset.
  FilterRows RowsSinceStart() const;

 private:
  FilterRows Rows() const;  // with the mutex held

  mutable std::mutex mutex_;
  std::map<FilterClass, std::unique_ptr<FilterGroup>> groups_;
  FilterRows before_reset_;
  std::chrono::steady_clock::time_point since_;
};

// Whether a policy was made here, and not before a fork: the counters of a
// child are its parent's. Takes no lock.
bool CountsInThisProcess();

// By which the functions of the header find a policy's statistics.
void AddPolicy(const ROCKSDB_NAMESPACE::FilterPolicy* policy,
               const std::shared_ptr<PolicyStatistics>& statistics);
void RemovePolicy(const ROCKSDB_NAMESPACE::FilterPolicy* policy);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_STATISTICS_STATISTICS_H_
