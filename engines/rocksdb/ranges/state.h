// The state that the collectors and the iterators of one column family share. A
// RocksDBRanges makes it; the factory of its collectors, the collectors and the
// iterators keep it alive. A factory that RocksDB makes by name has a state of
// its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/ranges/property.h"
#include "engines/rocksdb/ranges/samples.h"
#include "util/range/cut.h"

namespace rocksdb {
class ColumnFamilyHandle;
class Comparator;
class DB;
}  // namespace rocksdb

namespace deltabloom::internal {

// RocksDBRangeOptions, and what follows from them.
struct ParsedRangeOptions : RocksDBRangeOptions {
  // Sets all fields. Returns what Validate() does.
  std::string Set(const RocksDBRangeOptions& from);

  std::vector<range::Cut> cuts;                    // of range_prefixes
  const RegisteredTransform* transform = nullptr;  // null: "none"
};

// Counters, as in RocksDBRangeStatistics. Those of scans, which are counted
// when a scan ends, share a cache line, apart from what scans only read.
struct alignas(64) RangeCounters {
  std::atomic<uint64_t> scans{0};
  std::atomic<uint64_t> empty_scans{0};
  std::atomic<uint64_t> tables{0};
  std::atomic<uint64_t> tables_rejected{0};
  std::atomic<uint64_t> tables_passed_for_nothing{0};
  std::atomic<uint64_t> tables_without_cut{0};
  std::atomic<uint64_t> tables_without_filter{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> filters_built{0};
  std::atomic<uint64_t> tables_built_without{0};
  std::atomic<uint64_t> bytes_built{0};
};

// Thread-safe.
struct RangesState {
  explicit RangesState(const ParsedRangeOptions& parsed)
      : options(parsed),
        property_name(kRangePropertyName),
        bits_per_key(parsed.bits_per_key) {}

  // Adjusts bits_per_key to max_memory and the number of keys that RocksDB
  // estimates, if tables were built since it last did.
  void KeepMaxMemory(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family);

  // Returns whether the collector can use the order: keys ascend bytewise, or
  // do so once they are transformed.
  bool OrderFits(const rocksdb::Comparator& order) const;

  const ParsedRangeOptions options;
  // kRangePropertyName, so that table filters need no memory.
  const std::string property_name;
  // The bits per key of new tables: those of the options, or as many as
  // max_memory leaves.
  std::atomic<double> bits_per_key;
  // The order of keys: that of the last AddTo; null: bytewise.
  std::atomic<const rocksdb::Comparator*> comparator{nullptr};
  // True once the LOG says that RocksDB allows no table filter.
  std::atomic<bool> refusal_is_logged{false};
  // The members below change with each scan.
  RangeCounters counters;
  ScanSamples samples;
  EarlierCuts earlier_cuts;

 private:
  std::atomic<uint64_t> tables_at_last_estimate_{0};
};

// Returns whether keys under a comparator of this name, without their
// timestamps, are in the order of their bytes.
bool IsBytewiseOrder(std::string_view comparator);

// Bits below which a table gets no filter: Elias-Fano codes, the smallest of
// range filters, spend the first two on the number of keys alone.
inline constexpr double kLeastRangeBitsPerKey = 2;

}  // namespace deltabloom::internal
