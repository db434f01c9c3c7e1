// Collects the keys of a filter for its range part.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_KEYS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "rocksdb/slice.h"
#include "util/range/range_part.h"

namespace deltabloom::internal {

// (Add* Finish? Reset)*. A range part needs all keys of its table or partition,
// in the order of their bytes; where that is not certain there is none. Nothing
// throws.
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

  // `bits_per_key` of the range part, 0 for none; `seed` is that of a seeded
  // filter, else null.
  explicit RangeKeys(double bits_per_key, const SipHashKey* seed = nullptr);

  // Adds a whole key, or a prefix. An empty one is not taken, and readers treat
  // the empty key as present: it is the prefix that RangeExtractor returns,
  // which RocksDB adds with the first key if that is the extractor of the
  // table, and without which there are no lookups of ranges.
  void Add(const Slice& key) {
    if (state_ == State::kTaken) Take(key);
  }

  // A whole key and its prefix.
  void AddKeyAndAlt(const Slice& key, const Slice& alt) {
    if (state_ != State::kTaken) return;
    if (!alt.empty()) return Drop(State::kNoExtractor);
    prefix_seen_ = true;
    Take(key);
  }

  State state() const { return state_; }
  // The keys added, without empty ones and repetitions.
  uint64_t keys() const { return builder_.KeysAdded(); }
  // The most memory that Finish would hold now.
  uint64_t BuildBytes() const {
    return state_ == State::kTaken && keys() > 0
               ? builder_.EstimatedBuildBytes()
               : 0;
  }

  // Gives up.
  void Drop(State why = State::kTooLarge);
  // Appends the range part; false and nothing if there is none.
  bool Finish(std::string* dst);
  void Reset();

 private:
  void Take(const Slice& key);

  const double bits_per_key_;
  std::optional<SipHashKey> seed_;
  State state_;
  bool prefix_seen_ = false;
  bool key_seen_ = false;
  RangePartBuilder builder_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_KEYS_H_
