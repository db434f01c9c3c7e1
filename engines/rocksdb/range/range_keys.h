// The keys of a filter on their way into its range part.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_KEYS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "rocksdb/slice.h"
#include "util/range/range_part.h"

namespace deltabloom::internal {

// (Add* Finish? Reset)*. A range part has to know all keys of its table or
// partition, in the order of their bytes; where that is not certain there is
// none. Nothing throws.
class RangeKeys {
 public:
  using Slice = ROCKSDB_NAMESPACE::Slice;

  // What became of the keys since the last Reset.
  enum class State : uint8_t {
    kOff,          // no range part is asked for
    kTaken,        // all of them were taken
    kNoExtractor,  // keys without the prefixes of RangeExtractor
    kNotInOrder,   // or no memory was left
    kTooLarge,     // for max_build_bytes
    kUnfit,        // no range part can be made of them
  };

  // Bits of the range part, 0 for none; `seed` is that of a seeded filter, else
  // null.
  explicit RangeKeys(double bits_per_key, const SipHashKey* seed = nullptr);

  // A whole key, or a prefix. An empty one is not taken, and readers hold the
  // empty key for present: it is the prefix that RangeExtractor gives, which
  // RocksDB adds with the first key if that is the extractor of the table, and
  // without which no question about a range can come.
  void Add(const Slice& key) {
    if (state_ == State::kTaken) Take(key);
  }

  // A whole key and its prefix.
  void AddKeyAndAlt(const Slice& key, const Slice& alt) {
    if (state_ == State::kTaken) TakeWithPrefix(key, alt);
  }

  State state() const { return state_; }
  // What was added besides empty keys, up to equal neighbours.
  uint64_t keys() const { return builder_.KeysAdded(); }
  // The most memory that Finish would hold now.
  uint64_t BuildBytes() const {
    return state_ == State::kTaken && keys() > 0
               ? builder_.EstimatedBuildBytes()
               : 0;
  }

  // Gives up, for memory.
  void Drop() { Drop(State::kTooLarge); }
  // Appends the range part; false and nothing if there is none.
  bool Finish(std::string* dst);
  void Reset();

 private:
  void Take(const Slice& key);
  void TakeWithPrefix(const Slice& key, const Slice& prefix);
  void Drop(State why);

  const double bits_per_key_;
  std::optional<SipHashKey> seed_;
  State state_;
  bool prefix_seen_ = false;
  bool key_seen_ = false;
  RangePartBuilder builder_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_KEYS_H_
