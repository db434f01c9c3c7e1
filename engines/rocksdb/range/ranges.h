// Ranges between RocksDB and the range part of a filter: the prefix extractor
// through which a filter learns the bounds of a seek, and the keys of a filter.
//
// docs/design.md, "Ranges in RocksDB", has the calls that RocksDB makes before
// it looks up a prefix. This extractor gives every key the empty prefix at an
// address that no other recent call of the thread returned, so a filter that is
// queried for the prefix at the address of the last call but one knows both
// bounds. Another lookup's calls come from elsewhere on the stack.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/rocksdb/range/learning.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "rocksdb/slice_transform.h"
#include "util/range/range_part.h"

namespace deltabloom::internal {

// Its name and id in OPTIONS files and table properties. Never changes.
inline constexpr char kRangeExtractorName[] = "deltabloom.Range";

// Thread-safe. Bounds have a meaning only if keys are in the order of their
// bytes, so they are passed on only after Trust().
class __attribute__((visibility("hidden"))) RangeExtractor final
    : public rocksdb::SliceTransform {
 public:
  using Slice = rocksdb::Slice;

  // Throws std::bad_alloc.
  RangeExtractor();
  ~RangeExtractor() override;

  const char* Name() const override { return kRangeExtractorName; }

  Slice Transform(const Slice& key) const override;
  bool InDomain(const Slice& key) const override;

  // Its keys are in the order of their bytes, or are not. The latter is final.
  void Trust() const;
  void Distrust() const;

  // From the ranges that are looked up through it. It outlives the policies
  // that SetOptions makes.
  const std::shared_ptr<RangeLearning>& learning() const { return learning_; }

 private:
  enum class Order : uint8_t { kUnknown, kBytewise, kOther };

  mutable std::atomic<Order> order_{Order::kUnknown};
  const std::shared_ptr<RangeLearning> learning_ =
      std::make_shared<RangeLearning>();
};

// Null if it is null or not one of this library's.
const RangeExtractor* AsRangeExtractor(
    const rocksdb::SliceTransform* extractor);

// Called when a table of keys in another order was written with an extractor
// that was not checked. From then on none in this process passes on bounds.
void StopRanges();
bool RangesStopped();

// Whether tables whose comparator has this name may have a RangeExtractor.
bool IsBytewiseName(std::string_view comparator);

// Whether tables of the family have an index by the hash of a key's prefix.
bool HasHashIndex(const rocksdb::ColumnFamilyOptions& family);

// Returns one line about the first option of the family that conflicts with
// ranges or its RangeExtractor, or nothing. Decides whether the extractor
// passes on bounds.
std::string RangeConflict(const rocksdb::ColumnFamilyOptions& family,
                          bool range);

struct Bounds {
  std::string_view lower;
  std::string_view upper;             // not part of it
  RangeLearning* learning = nullptr;  // of the extractor that passed them
};

// Returns whether a lookup of `prefix` in a filter is one of a range, and of
// which: lower < upper, bytewise. The bounds live as long as the lookup. True
// once for each lookup.
bool TakeBounds(const rocksdb::Slice& prefix, Bounds* bounds);

struct RangeKeysOptions {
  // Of the filter; 0: there is no range part.
  double bits_per_key = 0;
  std::optional<SipHashKey> seed = {};  // of a seeded filter
  // What is stored, and in how many bits, follows from what the extractor
  // learned before it returns the first prefix.
  bool learning = true;
  // Set by hand; then nothing is chosen.
  std::vector<range::Cut> cuts = {};
  // Those that sampled ranges chose for a table that was opened.
  std::vector<range::Cut> opened_cuts = {};
  // Has the lookups by which bits are divided; null: they are halved.
  const PolicyStatistics* statistics = nullptr;
};

// Collects the keys of a filter for its range part: (Add* Finish? Reset)*. A
// range part needs all keys of its table or partition, in the order of their
// bytes; where that is not certain there is none. Nothing throws.
class RangeKeys {
 public:
  using Slice = rocksdb::Slice;

  // The state of the keys since the last Reset.
  enum class State : uint8_t {
    kOff,          // range parts are off
    kTaken,        // all keys were taken
    kNoExtractor,  // keys without the prefixes of RangeExtractor
    kNotInOrder,   // or no memory was left
    kTooLarge,     // for max_build_bytes
    kUnfit,        // no range part can be made of these keys
  };

  explicit RangeKeys(const RangeKeysOptions& options);

  // Adds a whole key, or a prefix. The empty one is the prefix that
  // RangeExtractor returns; readers treat the empty key as present.
  void Add(const Slice& key) {
    if (state_ == State::kTaken) Take(key);
  }

  void AddKeyAndAlt(const Slice& key, const Slice& alt) {
    if (state_ != State::kTaken) return;
    if (!alt.empty()) return Drop(State::kNoExtractor);
    TakePrefix(alt);
    Take(key);
  }

  State state() const { return state_; }
  // Of the range part; 0: there is none.
  double bits_per_key() const {
    return bits_per_key_.load(std::memory_order_relaxed);
  }
  // Null if nothing is learned, or no prefix came yet.
  RangeLearning* learning() const { return learning_.get(); }
  size_t questions() const { return questions_.size(); }
  bool Learned() const { return builder_.Learned(); }
  // The most memory that Finish would hold now.
  uint64_t BuildBytes() const {
    return state_ == State::kTaken && builder_.KeysAdded() > 0
               ? builder_.EstimatedBuildBytes()
               : 0;
  }

  void Drop(State why = State::kTooLarge) {
    Reset();
    state_ = why;
  }

  // Appends the range part; false and nothing if there is none.
  bool Finish(std::string* dst);
  void Reset();

 private:
  void Take(const Slice& key);
  void TakePrefix(const Slice& prefix);
  void MakeBuilder(const Slice& prefix);
  void AddKey(std::string_view key);

  const RangeKeysOptions options_;
  // Any thread may ask for the size of a filter.
  std::atomic<double> bits_per_key_;
  bool builder_made_ = false;  // for all partitions of a table
  std::shared_ptr<RangeLearning> learning_;
  State state_;
  bool prefix_seen_ = false;
  bool key_seen_ = false;
  std::string first_key_;  // which comes before its prefix
  std::vector<std::pair<std::string, std::string>> questions_;
  RangePartBuilder builder_;
};

}  // namespace deltabloom::internal
