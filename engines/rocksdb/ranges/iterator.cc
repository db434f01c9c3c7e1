#include "engines/rocksdb/ranges/iterator.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/rocksdb_version.h"
#include "engines/rocksdb/ranges/scan_range.h"
#include "engines/rocksdb/ranges/state.h"
#include "engines/rocksdb/ranges/table_question.h"
#include "rocksdb/table_properties.h"
#include "util/range/asked_filters.h"

namespace deltabloom::internal {
namespace {

using range::Answer;
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

// Wraps RocksDB's iterator with both bounds and a table filter.
//
// In each level RocksDB opens one table after the other until one has an entry.
// Forward it stops at the first table beyond the upper bound; backward it does
// not stop at the lower bound (LevelIterator::SkipEmptyFileBackward). So while
// the scan moves backward, a table whose keys all precede the lower bound is
// let through: its last key ends the walk. Without it a backward scan would
// open every table of a level before the bounds.
//
// Later seeks skip a table that was skipped once. So bounds are fixed, and set
// on both sides.
class ScanIterator final : public rocksdb::Iterator {
 public:
  ScanIterator(std::shared_ptr<RangesState> state, const ReadOptions& options,
               const ScanRequest& request)
      : state_(std::move(state)),
        range_(options, request),
        empty_(range_.Empty()),
        keeps_bounds_(request.keeps_bounds || range_.prefix()),
        key_suffix_(options.iter_start_ts == nullptr
                        ? 0
                        : request.comparator->timestamp_size() + kTagSize),
        question_(*state_, range_, *request.comparator),
        callers_filter_(CopyOf(options.table_filter)),
        filter_([this](const TableProperties& table) {
          return MayHoldKeys(table);
        }),
        front_tells_(options.read_tier != rocksdb::kBlockCacheTier),
        looks_from_front_(front_tells_ && !options.prefix_same_as_start &&
                          !options.tailing) {}

  ~ScanIterator() override {
    // Next may have come to more tables.
    if (positioned_ && counts_.tables > 0) state_->Count(&counts_);
  }

  // Returns false if `make` returns null.
  bool MakeInner(const RocksDBRanges::MakeIterator& make,
                 const ReadOptions& options, bool* refused) {
    ReadOptions with = options;
    // RocksDB refuses bounds that leave no key. The iterator is not moved then,
    // but has properties and can be refreshed.
    with.iterate_lower_bound = empty_ ? nullptr : range_.lower();
    with.iterate_upper_bound = empty_ ? nullptr : range_.upper();
    if (!empty_) SetTableFilter(&with.table_filter, &filter_);
    inner_.reset(make(with));
    if (empty_ || inner_ == nullptr || !inner_->status().IsInvalidArgument()) {
      return inner_ != nullptr;
    }
    // RocksDB may refuse table filters, or something else about the options.
    with.table_filter = options.table_filter;
    inner_.reset(make(with));
    *refused = inner_ != nullptr && inner_->status().ok();
    counts_.refused = *refused ? 1 : 0;
    state_->Count(&counts_);
    looks_from_front_ = false;
    return inner_ != nullptr;
  }

  bool Valid() const override { return !outside_ && inner_->Valid(); }
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

  void SeekToFirst() override { Move(/*backward=*/false, nullptr); }
  void Seek(const Slice& target) override { Move(/*backward=*/false, &target); }
  void SeekToLast() override {
    if (MayHaveKeys()) Move(/*backward=*/true, nullptr);
  }
  void SeekForPrev(const Slice& target) override {
    if (MayHaveKeys()) Move(/*backward=*/true, &target);
  }

  void Next() override { Step(/*backward=*/false); }
  void Prev() override { Step(/*backward=*/true); }

  Status Refresh() override { return inner_->Refresh(); }
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(8, 7, 0)
  Status Refresh(const rocksdb::Snapshot* snapshot) override {
    return inner_->Refresh(snapshot);
  }
#endif

 private:
  // The sequence number and type behind a key that has its timestamp.
  static constexpr size_t kTagSize = 8;

  // Returns whether the iterator is at a key beyond the range, in this
  // direction. RocksDB's own iterators keep bounds.
  bool IsBeyond(bool backward) const {
    if (!keeps_bounds_ || !inner_->Valid()) return false;
    const Slice key = inner_->key();
    return range_.IsBeyond({key.data(), key.size() - key_suffix_}, backward);
  }

  void Step(bool backward) {
    backward_ = backward;
    backward ? inner_->Prev() : inner_->Next();
    outside_ = IsBeyond(backward);
  }

  // Moves to the target, or, if the range starts behind it or it is null, to
  // the start of the range.
  void Move(bool backward, const Slice* target) {
    if (empty_) return;
    backward_ = backward;
    const bool from_start =
        target == nullptr || range_.StartsAt(*target, backward);
    if (from_start) target = backward ? range_.upper() : range_.lower();
    // RocksDB's own iterators are moved all the same, as they may have an error
    // to clear.
    outside_ =
        keeps_bounds_ && !from_start && range_.IsBeyond(*target, backward);
    if (!outside_) {
      if (target == nullptr) {
        backward ? inner_->SeekToLast() : inner_->SeekToFirst();
      } else {
        backward ? inner_->SeekForPrev(*target) : inner_->Seek(*target);
      }
      // The start may be a key that is not in the range itself: an upper bound,
      // or a key near a reverse prefix.
      while (IsBeyond(!backward)) backward ? inner_->Prev() : inner_->Next();
      outside_ = IsBeyond(backward);
    }
    NoteSeek(from_start && !backward);
  }

  // Looks from the front whether there is any key, before a move from the end,
  // unless this scan does not need it or has found a key before. Returns false,
  // and the iterator has no position, if the range is known to hold none.
  bool MayHaveKeys() {
    if (!looks_from_front_ || found_ || NoFilterHelps()) return true;
    SeekToFirst();
    // If there is an error, nothing is known.
    return Valid() || !inner_->status().ok();
  }

  // Returns whether none of the tables that were asked for so far, those of
  // level 0 above all, could have been rejected. Then a look from the front
  // would be a second seek for nothing. RocksDB 11.9 and later ask for none
  // before the first move.
  bool NoFilterHelps() const { return passed_ > 0 && !asked_some_; }

  void NoteSeek(bool from_front) {
    if (!positioned_) counts_.scans = 1;
    positioned_ = true;
    if (Valid()) {
      found_ = decided_ = true;
    } else if (!decided_ && from_front && front_tells_ && status().ok()) {
      decided_ = true;
      counts_.empty_scans = 1;
      counts_.tables_passed_for_nothing = passed_;
      if (passed_ > 0) question_.NoteUseless(&state_->suggestion);
    }
    state_->Count(&counts_);
  }

  // The table filter: false skips the table.
  bool MayHoldKeys(const TableProperties& table) {
    if (callers_filter_ && !callers_filter_(table)) return false;
    ++counts_.tables;
    Answer answer = Answer::kUnknown;
    WithoutThrowing([&] { answer = question_.Ask(table, backward_); });
    switch (answer) {
      case Answer::kNo:
        asked_some_ = true;
        ++counts_.tables_rejected;
        return false;
      case Answer::kMayMatch:
        asked_some_ = true;
        break;
      case Answer::kNoPlace:
        ++counts_.tables_without_place;
        break;
      case Answer::kUnknown:
        ++counts_.tables_without_filter;
    }
    ++passed_;
    return true;
  }

  const std::shared_ptr<RangesState> state_;
  const ScanRange range_;
  const bool empty_;         // no key can be in the range
  const bool keeps_bounds_;  // the inner iterator may not
  const size_t key_suffix_;  // bytes after each key, with iter_start_ts
  TableQuestion question_;
  const TableFilter callers_filter_;
  const TableFilter filter_;
  // With kBlockCacheTier a look from the front may miss keys without an error.
  const bool front_tells_;
  // True if moves from the end first look for keys from the front.
  bool looks_from_front_;
  bool backward_ = false;    // the last move
  bool outside_ = false;     // the inner iterator is at a key outside the range
  bool positioned_ = false;  // by some seek
  bool found_ = false;       // some seek found a key
  bool decided_ = false;     // whether the scan is empty
  bool asked_some_ = false;  // some table's filter was asked for a prefix
  uint64_t passed_ = 0;      // tables that were let through
  // Not yet added to the shared counters.
  RocksDBRangeStatistics counts_;
  // Destroyed before all that its table filter uses.
  std::unique_ptr<rocksdb::Iterator> inner_;
};

}  // namespace

std::unique_ptr<rocksdb::Iterator> NewScanIterator(
    std::shared_ptr<RangesState> state, const RocksDBRanges::MakeIterator& make,
    const ReadOptions& options, const ScanRequest& request, bool* refused) {
  auto scan =
      std::make_unique<ScanIterator>(std::move(state), options, request);
  if (!scan->MakeInner(make, options, refused)) return nullptr;
  return scan;
}

}  // namespace deltabloom::internal
