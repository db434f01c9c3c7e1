// The state that the collectors and the iterators of one column family share. A
// RocksDBRanges makes it; the factory of its collectors, the collectors and the
// iterators keep it alive. A factory that RocksDB makes by name has a state of
// its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/ranges/property.h"
#include "util/range/key_range.h"
#include "util/range/prefixes_option.h"
#include "util/range/suggestion.h"

namespace rocksdb {
class Comparator;
}  // namespace rocksdb

namespace deltabloom::internal {

// RocksDBRangeOptions, and what follows from them.
struct ParsedRangeOptions : RocksDBRangeOptions {
  ParsedRangeOptions() { Set({}); }

  // Sets all fields. Returns what Validate() does.
  std::string Set(const RocksDBRangeOptions& from);

  range::PlacesToHold places;
  std::optional<range::Order> order;               // null: by the comparator
  const RegisteredTransform* transform = nullptr;  // null: "none"
};

// Counters, as in RocksDBRangeStatistics, apart from what scans only read.
struct alignas(64) RangeCounters {
  std::atomic<uint64_t> scans{0};
  std::atomic<uint64_t> empty_scans{0};
  std::atomic<uint64_t> tables{0};
  std::atomic<uint64_t> tables_rejected{0};
  std::atomic<uint64_t> tables_passed_for_nothing{0};
  std::atomic<uint64_t> tables_without_place{0};
  std::atomic<uint64_t> tables_without_filter{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> filters_built{0};
  std::atomic<uint64_t> tables_built_without{0};
  std::atomic<uint64_t> bytes_built{0};
};

// Thread-safe.
struct RangesState {
  explicit RangesState(const ParsedRangeOptions& parsed)
      : options(parsed), property_name(kRangePropertyName) {}

  // Returns the order of a comparator's keys, or nothing if it is not known.
  std::optional<range::Order> OrderOf(const rocksdb::Comparator& order) const;
  // Returns the order in which filters have them: transformed, if at all.
  std::optional<range::Order> FilterOrderOf(
      const rocksdb::Comparator& order) const;

  // Returns that of the last AddTo, or BytewiseComparator().
  const rocksdb::Comparator* ComparatorOrBytewise() const;

  RocksDBRangeStatistics Statistics() const;

  const ParsedRangeOptions options;
  // kRangePropertyName, so that table filters need no memory.
  const std::string property_name;
  // That of the last AddTo, or null.
  std::atomic<const rocksdb::Comparator*> comparator{nullptr};
  // True once the LOG says that RocksDB allows no table filter.
  std::atomic<bool> refusal_is_logged{false};
  // The members below change with each scan.
  RangeCounters counters;
  range::Suggestion suggestion;
};

// Returns the order of keys under RocksDB's comparator of this name, without
// timestamps; nothing for other names.
std::optional<range::Order> KnownOrder(std::string_view comparator);

}  // namespace deltabloom::internal
