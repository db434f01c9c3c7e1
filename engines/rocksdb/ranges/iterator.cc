#include "engines/rocksdb/ranges/iterator.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "deltabloom/key_transform.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/rocksdb_version.h"
#include "engines/rocksdb/ranges/property.h"
#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/table_properties.h"
#include "util/range/answer.h"
#include "util/range/filter.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Comparator;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::TableProperties;

using TableFilter = std::function<bool(const TableProperties&)>;

// ReadOptions::table_filter is a function up to RocksDB 11.8 and a pointer to
// one from then on; `filter` must live as long as the options.
template <typename Field>
void SetTableFilter(Field* field, const TableFilter* filter) {
  if constexpr (std::is_pointer_v<Field>) {
    *field = filter;
  } else {
    *field = *filter;
  }
}

template <typename Field>
TableFilter CopyOf(const Field& field) {
  if constexpr (std::is_pointer_v<Field>) {
    return field == nullptr ? TableFilter() : *field;
  } else {
    return field;
  }
}

// The counts of a scan. A scan is made and destroyed often, so its counts reach
// the shared counters in one go.
struct ScanCounts {
  uint64_t tables = 0;
  uint64_t rejected = 0;
  uint64_t passed = 0;
  uint64_t without_cut = 0;
  uint64_t without_filter = 0;
};

void Add(std::atomic<uint64_t>* counter, uint64_t count) {
  if (count != 0) counter->fetch_add(count, std::memory_order_relaxed);
}

// The range of a scan. RocksDB has pointers to its bounds.
class ScanRange {
 public:
  // Takes the bounds of the request and of `options`, whichever are narrower.
  ScanRange(const ReadOptions& options, const ScanRequest& request)
      : comparator_(request.comparator),
        lower_(request.lower.data(), request.lower.size()) {
    const Slice* const lower = options.iterate_lower_bound;
    const Slice* const upper = options.iterate_upper_bound;
    if (lower != nullptr && Compare(*lower, lower_) > 0) lower_ = *lower;
    if (request.upper.has_value()) {
      upper_ = Slice(request.upper->data(), request.upper->size());
    }
    if (upper != nullptr &&
        (!upper_.has_value() || Compare(*upper, *upper_) < 0)) {
      upper_ = *upper;
    }
    Keep();
  }
  ScanRange(const ScanRange&) = delete;
  ScanRange& operator=(const ScanRange&) = delete;

  const Slice& lower() const { return lower_; }
  // Null: there is none.
  const Slice* upper() const { return upper_.has_value() ? &*upper_ : nullptr; }

  // Returns whether no key can be in it.
  bool Empty() const {
    return upper_.has_value() && Compare(lower_, *upper_) >= 0;
  }

  // Returns whether `key` is the lower bound or comes before it.
  bool IsAtFront(const Slice& key) const { return Compare(key, lower_) <= 0; }

 private:
  int Compare(const Slice& a, const Slice& b) const {
    return comparator_->CompareWithoutTimestamp(a, false, b, false);
  }

  // Copies the bytes of both, in one allocation.
  void Keep() {
    const size_t lower_size = lower_.size();
    const size_t upper_size = upper_.has_value() ? upper_->size() : 0;
    bytes_.reset(new char[lower_size + upper_size]);
    char* const upper_bytes =
        std::copy_n(lower_.data(), lower_size, bytes_.get());
    lower_ = Slice(bytes_.get(), lower_size);
    if (!upper_.has_value()) return;
    std::copy_n(upper_->data(), upper_size, upper_bytes);
    upper_ = Slice(upper_bytes, upper_size);
  }

  const Comparator* const comparator_;
  std::unique_ptr<char[]> bytes_;
  Slice lower_;
  std::optional<Slice> upper_;
};

// A scan whose range can hold no key. Unlike RocksDB's empty iterator
// it can be refreshed.
class EmptyScan final : public rocksdb::Iterator {
 public:
  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(const Slice&) override {}
  void SeekForPrev(const Slice&) override {}
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return {}; }
  Slice value() const override { return {}; }
  Status status() const override { return Status::OK(); }
  Status Refresh() override { return Status::OK(); }
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(8, 7, 0)
  Status Refresh(const rocksdb::Snapshot*) override { return Status::OK(); }
#endif
};

// Wraps RocksDB's iterator with both bounds and a table filter.
//
// In a level RocksDB opens a table after the other until one has an entry,
// forward up to the first table beyond the upper bound, but backward it does
// not stop at the lower bound (LevelIterator::SkipEmptyFileBackward). So while
// the scan moves backward, a table whose keys all precede the lower bound is
// let through: its last key ends the walk. Without it a backward scan would
// open every table of a level before the bounds.
//
// A table that is skipped stays so for later seeks, which is why bounds are
// fixed, and set on both sides.
class ScanIterator final : public rocksdb::Iterator {
 public:
  ScanIterator(std::shared_ptr<RangesState> state, const ReadOptions& options,
               const ScanRequest& request)
      : state_(std::move(state)),
        range_(options, request),
        callers_filter_(CopyOf(options.table_filter)),
        filter_([this](const TableProperties& table) {
          return MayHoldKeys(table);
        }),
        comparator_(*request.comparator),
        order_fits_(state_->OrderFits(comparator_)),
        looks_from_front_(!options.prefix_same_as_start && !options.tailing) {
    const RegisteredTransform* const transform = state_->options.transform;
    if (transform == nullptr) {
      asked_lower_ = range_.lower().ToStringView();
      if (range_.upper() != nullptr) {
        asked_upper_ = range_.upper()->ToStringView();
      }
      return;
    }
    KeyScratch scratch;
    const auto map = [&](const Slice& bound) {
      return std::string(
          transform->transform.function(bound.ToStringView(), &scratch));
    };
    // If the bounds cannot be mapped, every table may match.
    order_fits_ = order_fits_ && WithoutThrowing([&] {
                    mapped_lower_ = map(range_.lower());
                    asked_lower_ = mapped_lower_;
                    if (range_.upper() == nullptr) return;
                    mapped_upper_ = map(*range_.upper());
                    asked_upper_ = mapped_upper_;
                  });
  }

  ~ScanIterator() override {
    inner_.reset();
    if (positioned_) Report();
  }

  const ScanRange& range() const { return range_; }

  // Null if `make` returns null.
  void MakeInner(const RocksDBRanges::MakeIterator& make,
                 const ReadOptions& options, bool* refused) {
    ReadOptions with = options;
    with.iterate_lower_bound = &range_.lower();
    with.iterate_upper_bound = range_.upper();
    SetTableFilter(&with.table_filter, &filter_);
    inner_.reset(make(with));
    if (inner_ == nullptr || !inner_->status().IsInvalidArgument()) return;
    // RocksDB may refuse table filters, or something else about the options.
    with.table_filter = options.table_filter;
    inner_.reset(make(with));
    *refused = inner_ != nullptr && inner_->status().ok();
    looks_from_front_ = false;
  }
  bool HasInner() const { return inner_ != nullptr; }

  bool Valid() const override { return inner_->Valid(); }
  Slice key() const override { return inner_->key(); }
  Slice value() const override { return inner_->value(); }
  Slice timestamp() const override { return inner_->timestamp(); }
  Status status() const override { return inner_->status(); }
  Status GetProperty(std::string name, std::string* value) override {
    return inner_->GetProperty(std::move(name), value);
  }
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(7, 7, 0)
  const rocksdb::WideColumns& columns() const override {
    return inner_->columns();
  }
#endif
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(9, 8, 0)
  bool PrepareValue() override { return inner_->PrepareValue(); }
#endif

  void SeekToFirst() override {
    backward_ = false;
    inner_->SeekToFirst();
    NoteSeek(/*from_front=*/true);
  }

  void Seek(const Slice& target) override {
    backward_ = false;
    inner_->Seek(target);
    NoteSeek(range_.IsAtFront(target));
  }

  void Next() override {
    backward_ = false;
    inner_->Next();
  }

  void SeekToLast() override {
    if (!LookFromFront()) return;
    backward_ = true;
    inner_->SeekToLast();
    NoteSeek(/*from_front=*/false);
  }

  void SeekForPrev(const Slice& target) override {
    if (!LookFromFront()) return;
    backward_ = true;
    inner_->SeekForPrev(target);
    NoteSeek(/*from_front=*/false);
  }

  void Prev() override {
    backward_ = true;
    inner_->Prev();
  }

  Status Refresh() override { return Refreshed(inner_->Refresh()); }
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(8, 7, 0)
  Status Refresh(const rocksdb::Snapshot* snapshot) override {
    return Refreshed(inner_->Refresh(snapshot));
  }
#endif

 private:
  // Seeks to the front, unless this scan does not need it or has found a key
  // before. Returns false, and the iterator has no position, if the range is
  // known to hold no key.
  bool LookFromFront() {
    if (!looks_from_front_ || found_) return true;
    SeekToFirst();
    // If there is an error, such as with kBlockCacheTier, nothing is known.
    return inner_->Valid() || !inner_->status().ok();
  }

  void NoteSeek(bool from_front) {
    positioned_ = true;
    if (inner_->Valid()) {
      found_ = true;
    } else if (from_front && inner_->status().ok()) {
      front_was_empty_ = true;
    }
  }

  // Returns whether the range is known to hold no key. A tailing iterator can
  // find one that was written after a seek to the front found none.
  bool IsKnownEmpty() const { return front_was_empty_ && !found_; }

  Status Refreshed(Status status) {
    found_ = false;
    front_was_empty_ = false;
    return status;
  }

  // The table filter: false skips the table.
  bool MayHoldKeys(const TableProperties& table) {
    if (callers_filter_ && !callers_filter_(table)) return false;
    ++counts_.tables;
    const auto found =
        table.user_collected_properties.find(state_->property_name);
    RangeProperty property;
    if (found == table.user_collected_properties.end() ||
        !ParseRangeProperty(found->second, &property) ||
        !IsOfThisOrder(property, table)) {
      ++counts_.without_filter;
      return true;
    }
    const range::Filter filter(property.filter);
    if (filter.AlwaysMatches()) {
      ++counts_.without_filter;
      return true;
    }
    if (state_->options.learning && state_->samples.Empty()) {
      state_->earlier_cuts.Note(filter, property.filter.size());
    }
    return MayMatch(filter);
  }

  bool MayMatch(const range::Filter& filter) {
    const range::Answer answer = filter.Ask(asked_lower_, asked_upper_);
    if (answer == range::Answer::kNo) {
      if (backward_ && !filter.HasKeyFrom(asked_lower_)) return true;
      ++counts_.rejected;
      return false;
    }
    if (answer == range::Answer::kNoCut) ++counts_.without_cut;
    ++counts_.passed;
    return true;
  }

  bool IsOfThisOrder(const RangeProperty& property,
                     const TableProperties& table) const {
    const RegisteredTransform* const transform = state_->options.transform;
    const std::string_view transform_name =
        transform == nullptr ? std::string_view() : transform->text;
    return order_fits_ && property.transform == transform_name &&
           property.timestamp_size == comparator_.timestamp_size() &&
           table.comparator_name == comparator_.Name() &&
           // The collector has seen every entry.
           property.entries + table.num_range_deletions == table.num_entries;
  }

  void Report() {
    const bool is_empty = IsKnownEmpty();
    RangeCounters& counters = state_->counters;
    Add(&counters.scans, 1);
    Add(&counters.empty_scans, is_empty ? 1 : 0);
    Add(&counters.tables, counts_.tables);
    Add(&counters.tables_rejected, counts_.rejected);
    if (is_empty) Add(&counters.tables_passed_for_nothing, counts_.passed);
    Add(&counters.tables_without_cut, counts_.without_cut);
    Add(&counters.tables_without_filter, counts_.without_filter);
    if (!state_->options.learning || !asked_upper_.has_value() ||
        asked_lower_ >= *asked_upper_) {
      return;
    }
    state_->samples.Note(is_empty && counts_.passed > 0
                             ? ScanSamples::Kind::kPassedForNothing
                             : ScanSamples::Kind::kOther,
                         asked_lower_, *asked_upper_);
  }

  const std::shared_ptr<RangesState> state_;
  const ScanRange range_;
  // The bounds as filters have them.
  std::string mapped_lower_, mapped_upper_;
  std::string_view asked_lower_;
  std::optional<std::string_view> asked_upper_;
  const TableFilter callers_filter_;
  const TableFilter filter_;
  const Comparator& comparator_;
  bool order_fits_;
  std::unique_ptr<rocksdb::Iterator> inner_;
  // True if moves from the end first look for keys from the front.
  bool looks_from_front_;
  bool backward_ = false;         // the last move
  bool positioned_ = false;       // by some seek
  bool found_ = false;            // some seek found a key
  bool front_was_empty_ = false;  // some seek to the front found none
  ScanCounts counts_;
};

}  // namespace

std::unique_ptr<rocksdb::Iterator> NewScanIterator(
    std::shared_ptr<RangesState> state, const RocksDBRanges::MakeIterator& make,
    const ReadOptions& options, const ScanRequest& request, bool* refused) {
  auto scan =
      std::make_unique<ScanIterator>(std::move(state), options, request);
  if (scan->range().Empty()) return std::make_unique<EmptyScan>();
  scan->MakeInner(make, options, refused);
  if (!scan->HasInner()) return nullptr;
  return scan;
}

}  // namespace deltabloom::internal
