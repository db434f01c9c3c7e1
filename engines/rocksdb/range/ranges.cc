#include "engines/rocksdb/range/ranges.h"

#include <cstddef>
#include <set>

#include "engines/rocksdb/policy/options.h"
#include "engines/rocksdb/policy/process_wide.h"
#include "rocksdb/comparator.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"

namespace deltabloom::internal {
namespace {

using rocksdb::ColumnFamilyOptions;
using rocksdb::Comparator;
using rocksdb::Slice;

// Addresses for prefixes. They are never read or written, so that they take no
// memory. A thread takes a chunk of them at a time.
constexpr uint32_t kChunkSize = 4096;
constexpr uint32_t kChunks = 256;
char addresses[kChunks * kChunkSize];
std::atomic<uint32_t> next_chunk{0};

std::atomic<bool> ranges_stopped{false};

// A call of Transform.
struct Call {
  const char* address;
  std::string_view key;
  const RangeExtractor* by;  // null if the order of keys is not known
  uintptr_t frame;           // its place on the stack
};

// The function that looks up a range calls Transform for both bounds from about
// the same frame. A Get or Put while the filter is read makes the same calls
// deeper on the stack, or on another one.
constexpr uintptr_t kMaxFrameDistance = 1024;

// The last calls of one thread.
struct Calls {
  Call last_but_one;
  Call last;
  // The number of InDomain calls since the last Transform, and the last key.
  uint32_t in_domain;
  std::string_view domain_key;
  // Between the two Transforms was one InDomain, of the second one's key, and
  // there was no call after the second.
  bool are_bounds;
  const char* next_address;
  const char* end_of_addresses;
};

// Initial-exec, as statistics.h explains; it takes some 130 bytes.
__thread Calls this_threads_calls
    __attribute__((tls_model("initial-exec"))) = {};

bool AreNear(uintptr_t a, uintptr_t b) {
  return (a < b ? b - a : a - b) <= kMaxFrameDistance;
}

const char* NewAddress(Calls* calls) {
  if (calls->next_address == calls->end_of_addresses) {
    const uint32_t chunk =
        next_chunk.fetch_add(1, std::memory_order_relaxed) % kChunks;
    calls->next_address = addresses + chunk * kChunkSize;
    calls->end_of_addresses = calls->next_address + kChunkSize;
  }
  return calls->next_address++;
}

using Extractors = ProcessWide<std::set<const rocksdb::SliceTransform*>>;

constexpr char kWithTimestamps[] = "leveldb.BytewiseComparator.u64ts";

bool IsBytewise(const Comparator* comparator) {
  if (comparator == rocksdb::BytewiseComparator()) return true;
  // By name, as older headers do not declare the function.
  const Comparator* with_timestamps = nullptr;
  const rocksdb::Status status = Comparator::CreateFromString(
      rocksdb::ConfigOptions(), kWithTimestamps, &with_timestamps);
  return status.ok() && comparator == with_timestamps;
}

}  // namespace

RangeExtractor::RangeExtractor() { Extractors()->insert(this); }

RangeExtractor::~RangeExtractor() { Extractors()->erase(this); }

Slice RangeExtractor::Transform(const Slice& key) const {
  Calls& calls = this_threads_calls;
  calls.are_bounds = calls.in_domain == 1 &&
                     calls.domain_key.data() == key.data() &&
                     calls.domain_key.size() == key.size();
  calls.in_domain = 0;
  calls.last_but_one = calls.last;
  const bool bytewise =
      order_.load(std::memory_order_relaxed) == Order::kBytewise;
  calls.last = {NewAddress(&calls), key.ToStringView(),
                bytewise ? this : nullptr,
                reinterpret_cast<uintptr_t>(__builtin_frame_address(0))};
  return {calls.last.address, 0};
}

bool RangeExtractor::InDomain(const Slice& key) const {
  Calls& calls = this_threads_calls;
  calls.are_bounds = false;
  ++calls.in_domain;
  calls.domain_key = key.ToStringView();
  return true;
}

void RangeExtractor::Trust() const {
  Order unknown = Order::kUnknown;
  order_.compare_exchange_strong(unknown, Order::kBytewise);
}

void RangeExtractor::Distrust() const { order_ = Order::kOther; }

const RangeExtractor* AsRangeExtractor(
    const rocksdb::SliceTransform* extractor) {
  return Extractors()->count(extractor) == 0
             ? nullptr
             : static_cast<const RangeExtractor*>(extractor);
}

void StopRanges() { ranges_stopped = true; }

bool RangesStopped() { return ranges_stopped; }

bool IsBytewiseName(std::string_view comparator) {
  return comparator == rocksdb::BytewiseComparator()->Name() ||
         comparator == kWithTimestamps;
}

bool HasHashIndex(const ColumnFamilyOptions& family) {
  using Table = rocksdb::BlockBasedTableOptions;
  if (family.table_factory == nullptr) return false;
  const auto* const table = family.table_factory->GetOptions<Table>();
  return table != nullptr && table->index_type == Table::kHashSearch;
}

std::string RangeConflict(const ColumnFamilyOptions& family, bool range) {
  const RangeExtractor* const extractor =
      AsRangeExtractor(family.prefix_extractor.get());
  if (extractor == nullptr && !range) return {};
  const std::string what =
      range ? "range=on"
            : std::string("prefix_extractor=") + kRangeExtractorName;
  if (family.comparator == nullptr || !IsBytewise(family.comparator)) {
    // For good: a program that gets this error may go on with a call in which
    // RocksDB does not validate options.
    if (extractor != nullptr) extractor->Distrust();
    return what + " needs keys in the order of their bytes, and comparator " +
           (family.comparator == nullptr ? "" : family.comparator->Name()) +
           " has another: use BytewiseComparator, or do without ranges" +
           (extractor == nullptr
                ? ""
                : "; this prefix_extractor answers no ranges from now on, "
                  "wherever else it is used: restart, or make a new one");
  }
  if (extractor == nullptr) return {};
  if (HasHashIndex(family)) {
    return what +
           " gives all keys one prefix, which index_type kHashSearch cannot "
           "tell apart: use another index_type, or do without ranges";
  }
  extractor->Trust();
  return {};
}

bool TakeBounds(const Slice& prefix, Bounds* bounds) {
  Calls& calls = this_threads_calls;
  const bool are_bounds = calls.are_bounds;
  calls.are_bounds = false;
  const Call& lower = calls.last_but_one;
  const Call& upper = calls.last;
  if (!are_bounds || prefix.size() != 0 || prefix.data() != lower.address ||
      lower.by == nullptr || lower.by != upper.by ||
      !AreNear(lower.frame, upper.frame) || RangesStopped()) {
    return false;
  }
  bounds->lower = lower.key;
  bounds->upper = upper.key;
  bounds->learning = lower.by->learning().get();
  return bounds->lower < bounds->upper;
}

RangeKeys::RangeKeys(const RangeKeysOptions& options)
    : options_(options),
      bits_per_key_(options.bits_per_key < kMinBitsPerKeyWithRanges
                        ? 0
                        : RangeBitsPerKey(options.bits_per_key)),
      builder_(bits_per_key_) {
  Reset();
}

void RangeKeys::TakePrefix(const Slice& prefix) {
  if (prefix_seen_) return;
  prefix_seen_ = true;
  if (!builder_made_) MakeBuilder(prefix);
  if (key_seen_) AddKey(first_key_);
}

void RangeKeys::MakeBuilder(const Slice& prefix) {
  builder_made_ = true;
  // What the extractor learns that just returned the prefix, if its order of
  // keys is known.
  const Call& last = this_threads_calls.last;
  if (options_.learning && prefix.data() == last.address &&
      last.by != nullptr) {
    learning_ = last.by->learning();
    WithoutThrowing([this] {
      if (options_.statistics == nullptr) return;
      uint64_t keys = 0, ranges = 0;
      for (const auto& [filters, row] : options_.statistics->RowsSinceStart()) {
        keys += row.lookups;
        ranges += row.range_lookups;
      }
      learning_->CountLookups(options_.statistics, keys, ranges);
    });
    bits_per_key_ = learning_->RangeBits(options_.bits_per_key);
  }
  builder_ = RangePartBuilder(bits_per_key_);
  builder_.ShareRanges();
  if (options_.seed.has_value()) builder_.SetSeed(*options_.seed);
  // Without memory there are no questions.
  WithoutThrowing([this] {
    if (learning_ != nullptr && options_.cuts.empty()) {
      questions_ = learning_->sample.Get();
    }
    builder_.SetCuts(options_.cuts);
    builder_.SetLearnedCuts(options_.opened_cuts);
    for (const auto& [lower, upper] : questions_) {
      builder_.AddSample(lower, upper);
    }
  });
}

void RangeKeys::Take(const Slice& key) {
  if (key.empty()) return TakePrefix(key);
  if (prefix_seen_) {
    AddKey(key.ToStringView());
  } else if (key_seen_) {
    Drop(State::kNoExtractor);
  } else if (!WithoutThrowing([&] { first_key_ = key.ToStringView(); })) {
    Drop(State::kNotInOrder);
  }
  key_seen_ = true;
}

void RangeKeys::AddKey(std::string_view key) {
  builder_.AddKey(key);
  if (builder_.KeysAdded() == 0) Drop(State::kNotInOrder);
}

bool RangeKeys::Finish(std::string* dst) {
  if (state_ != State::kTaken || !key_seen_) return false;
  if (prefix_seen_ && builder_.Finish(dst)) return true;
  Drop(prefix_seen_ ? State::kUnfit : State::kNoExtractor);
  return false;
}

void RangeKeys::Reset() {
  if (key_seen_) builder_.Clear();
  state_ = bits_per_key_ == 0 ? State::kOff : State::kTaken;
  prefix_seen_ = false;
  key_seen_ = false;
}

}  // namespace deltabloom::internal
