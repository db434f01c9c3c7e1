// Defines the functions of deltabloom/rocksdb_ranges.h.
#include "deltabloom/rocksdb_ranges.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/ranges/collector.h"
#include "engines/rocksdb/ranges/iterator.h"
#include "engines/rocksdb/ranges/scan_range.h"
#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "util/range/key_range.h"

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
    if (comparator == nullptr ||
        !rep_->options.FilterOrderOf(comparator->Name())) {
      internal::Require(
          std::string("range filters need keys in the order of their bytes or "
                      "its reverse, and the order of comparator ") +
          (comparator == nullptr ? "null" : comparator->Name()) +
          " is not known: set key_order if it is one of them, name a "
          "key_transform that maps its order to that of bytes, or do without "
          "range filters");
    }
    internal::AddRangeCollector(rep_, family);
    rep_->comparator = comparator;
    return true;
  });
}

namespace {

using internal::range::Order;

// Returns scan(request) for all keys that begin with the prefix.
template <typename Scan>
std::unique_ptr<Iterator> ScanPrefix(const internal::RangesState& state,
                                     const Comparator* comparator,
                                     std::string_view prefix,
                                     const Scan& scan) {
  const auto order = state.options.OrderOf(comparator->Name());
  // The transformed keys may have no prefix in common.
  if (!order ||
      (order == Order::kReverse && state.options.transform != nullptr)) {
    return std::unique_ptr<Iterator>(
        rocksdb::NewErrorIterator(rocksdb::Status::InvalidArgument(
            "deltabloom: a scan of a prefix needs keys in the order of their "
            "bytes or its reverse, and no key transform in the latter",
            comparator->Name())));
  }
  internal::ScanRequest request{prefix, std::nullopt, comparator};
  request.prefix_order = order;
  return scan(request);
}

// An iterator of RocksDB's own.
std::unique_ptr<Iterator> NewOwn(
    const std::shared_ptr<internal::RangesState>& state, DB* db,
    const ReadOptions& options, ColumnFamilyHandle* family,
    const internal::ScanRequest& request) {
  bool refused = false;
  auto iterator = internal::NewScanIterator(
      state,
      [db, family](const ReadOptions& with) {
        return db->NewIterator(with, family);
      },
      options, request, &refused);
  if (refused && !state->refusal_is_logged.exchange(true)) {
    rocksdb::Warn(db->GetDBOptions().info_log,
                  "[deltabloom] [%s] range filters are not used: RocksDB "
                  "allows no table filter, as with "
                  "min_tombstones_for_range_conversion",
                  family->GetName().c_str());
  }
  return iterator;
}

// An iterator of anything else.
std::unique_ptr<Iterator> NewOther(
    const std::shared_ptr<internal::RangesState>& state,
    const RocksDBRanges::MakeIterator& make, const ReadOptions& options,
    internal::ScanRequest request) {
  bool refused = false;
  request.keeps_bounds = true;
  auto iterator =
      internal::NewScanIterator(state, make, options, request, &refused);
  return iterator;
}

}  // namespace

std::unique_ptr<Iterator> RocksDBRanges::NewIterator(
    DB* db, const ReadOptions& options, ColumnFamilyHandle* family,
    std::string_view lower, std::optional<std::string_view> upper) {
  return NewOwn(rep_, db, options, family,
                {lower, upper, family->GetComparator()});
}

std::unique_ptr<Iterator> RocksDBRanges::NewPrefixIterator(
    DB* db, const ReadOptions& options, ColumnFamilyHandle* family,
    std::string_view prefix) {
  return ScanPrefix(*rep_, family->GetComparator(), prefix,
                    [&](const internal::ScanRequest& request) {
                      return NewOwn(rep_, db, options, family, request);
                    });
}

std::unique_ptr<Iterator> RocksDBRanges::NewIterator(
    const MakeIterator& make, const ReadOptions& options,
    std::string_view lower, std::optional<std::string_view> upper) {
  return NewOther(rep_, make, options, {lower, upper, rep_->comparator});
}

std::unique_ptr<Iterator> RocksDBRanges::NewPrefixIterator(
    const MakeIterator& make, const ReadOptions& options,
    std::string_view prefix) {
  return ScanPrefix(*rep_, rep_->comparator, prefix,
                    [&](const internal::ScanRequest& request) {
                      return NewOther(rep_, make, options, request);
                    });
}

RocksDBRangeStatistics RocksDBRanges::Statistics() const {
  return rep_->RangesState::Statistics();
}

}  // namespace deltabloom
