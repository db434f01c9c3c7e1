// Defines the functions of deltabloom/rocksdb_ranges.h.
#include "deltabloom/rocksdb_ranges.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/ranges/collector.h"
#include "engines/rocksdb/ranges/iterator.h"
#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace deltabloom {

using rocksdb::ColumnFamilyHandle;
using rocksdb::ColumnFamilyOptions;
using rocksdb::Comparator;
using rocksdb::DB;
using rocksdb::Iterator;
using rocksdb::ReadOptions;

struct RocksDBRanges::Rep : internal::RangesState {
  using RangesState::RangesState;
};

RocksDBRanges::RocksDBRanges(std::shared_ptr<Rep> rep) : rep_(std::move(rep)) {}

RocksDBRanges::~RocksDBRanges() = default;

std::shared_ptr<RocksDBRanges> RocksDBRanges::New(
    const RocksDBRangeOptions& options, std::string* error) {
  return internal::Catch(error, [&]() -> std::shared_ptr<RocksDBRanges> {
    internal::Register();
    internal::ParsedRangeOptions parsed;
    internal::Require(parsed.Set(options));
    return std::shared_ptr<RocksDBRanges>(
        new RocksDBRanges(std::make_shared<Rep>(parsed)));
  });
}

bool RocksDBRanges::AddTo(ColumnFamilyOptions* family, std::string* error) {
  return internal::Catch(error, [&] {
    const Comparator* const comparator = family->comparator;
    if (comparator == nullptr || !rep_->OrderFits(*comparator)) {
      internal::Require(
          std::string("range filters need keys in the order of their bytes, "
                      "and comparator ") +
          (comparator == nullptr ? "null" : comparator->Name()) +
          " has another: name a key_transform that maps its order to that of "
          "bytes, or do without range filters");
    }
    internal::ReplaceRangeCollector(
        internal::NewRangeCollectorFactory(rep_, comparator->timestamp_size()),
        family);
    rep_->comparator = comparator;
    return true;
  });
}

std::unique_ptr<Iterator> RocksDBRanges::NewIterator(
    DB* db, const ReadOptions& options, ColumnFamilyHandle* family,
    std::string_view lower, std::optional<std::string_view> upper) {
  rep_->KeepMaxMemory(db, family);
  bool refused = false;
  auto iterator = internal::NewScanIterator(
      rep_,
      [db, family](const ReadOptions& with) {
        return db->NewIterator(with, family);
      },
      options, {lower, upper, family->GetComparator()}, &refused);
  if (refused) ++rep_->counters.refused;
  if (refused && !rep_->refusal_is_logged.exchange(true)) {
    rocksdb::Warn(db->GetDBOptions().info_log,
                  "[deltabloom] [%s] range filters are not used: RocksDB "
                  "allows no table filter, as with "
                  "min_tombstones_for_range_conversion",
                  family->GetName().c_str());
  }
  return iterator;
}

std::unique_ptr<Iterator> RocksDBRanges::NewPrefixIterator(
    DB* db, const ReadOptions& options, ColumnFamilyHandle* family,
    std::string_view prefix) {
  // The smallest key that is larger than all keys with the prefix.
  std::string after(prefix);
  while (!after.empty() && after.back() == '\xff') after.pop_back();
  if (after.empty()) {
    return NewIterator(db, options, family, prefix, std::nullopt);
  }
  ++after.back();
  return NewIterator(db, options, family, prefix, after);
}

std::unique_ptr<Iterator> RocksDBRanges::NewIterator(
    const MakeIterator& make, const ReadOptions& options,
    std::string_view lower, std::optional<std::string_view> upper) {
  const Comparator* comparator = rep_->comparator;
  if (comparator == nullptr) comparator = rocksdb::BytewiseComparator();
  bool refused = false;
  auto iterator = internal::NewScanIterator(
      rep_, make, options, {lower, upper, comparator}, &refused);
  if (refused) ++rep_->counters.refused;
  return iterator;
}

RocksDBRangeStatistics RocksDBRanges::Statistics() const {
  const internal::RangeCounters& from = rep_->counters;
  const auto get = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  RocksDBRangeStatistics to;
  to.scans = get(from.scans);
  to.empty_scans = get(from.empty_scans);
  to.tables = get(from.tables);
  to.tables_rejected = get(from.tables_rejected);
  to.tables_passed_for_nothing = get(from.tables_passed_for_nothing);
  to.tables_without_cut = get(from.tables_without_cut);
  to.tables_without_filter = get(from.tables_without_filter);
  to.refused = get(from.refused);
  to.filters_built = get(from.filters_built);
  to.tables_built_without = get(from.tables_built_without);
  to.bytes_built = get(from.bytes_built);
  return to;
}

}  // namespace deltabloom
