// The state that the collectors and the iterators of one column family share. A
// RocksDBRanges makes it; the factory of its collectors, the collectors and the
// iterators keep it alive. A factory that RocksDB makes by name has a state of
// its own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "rocksdb/comparator.h"
#include "util/range/key_range.h"
#include "util/range/prefixes_option.h"
#include "util/range/suggestion.h"

namespace deltabloom::internal {

// RocksDBRangeOptions, and what follows from them.
struct ParsedRangeOptions : RocksDBRangeOptions {
  ParsedRangeOptions() { Set({}); }

  // Sets all fields. Returns what Validate() does.
  std::string Set(const RocksDBRangeOptions& from);

  // Returns the order of keys under the comparator of this name, without
  // timestamps, and the order in which filters have them, which is that of the
  // key transform, if any; nothing if it is not known.
  std::optional<range::Order> OrderOf(std::string_view comparator) const;
  std::optional<range::Order> FilterOrderOf(std::string_view comparator) const;

  range::PlacesToHold places;
  std::optional<range::Order> order;               // null: by the comparator
  const RegisteredTransform* transform = nullptr;  // null: "none"
};

// Thread-safe: what changes is atomic, and no two of these values have to fit
// each other.
struct RangesState {
  explicit RangesState(const ParsedRangeOptions& parsed) : options(parsed) {}

  // Moves what *counts has to the counters of Statistics().
  void Count(RocksDBRangeStatistics* counts);
  RocksDBRangeStatistics Statistics() const;

  const ParsedRangeOptions options;
  // The comparator of the family in the last call of AddTo.
  std::atomic<const rocksdb::Comparator*> comparator{
      rocksdb::BytewiseComparator()};
  // True once the LOG says that RocksDB allows no table filter.
  std::atomic<bool> refusal_is_logged{false};
  // The members below change with each scan, those above do not.
  alignas(64) std::array<std::atomic<uint64_t>, 11> counters{};
  range::Suggestion suggestion;
};

}  // namespace deltabloom::internal
