#include "engines/rocksdb/range/range_keys.h"

namespace deltabloom::internal {

RangeKeys::RangeKeys(double bits_per_key, const SipHashKey* seed)
    : bits_per_key_(bits_per_key), builder_(bits_per_key) {
  if (seed != nullptr) {
    seed_ = *seed;
    builder_.SetSeed(*seed);
  }
  Reset();
}

void RangeKeys::Take(const Slice& key) {
  if (key.empty()) {
    prefix_seen_ = true;
    return;
  }
  if (key_seen_ && !prefix_seen_) return Drop(State::kNoExtractor);
  key_seen_ = true;
  builder_.AddKey(key.ToStringView());
  if (builder_.KeysAdded() == 0) Drop(State::kNotInOrder);
}

void RangeKeys::Drop(State why) {
  Reset();
  state_ = why;
}

bool RangeKeys::Finish(std::string* dst) {
  if (state_ != State::kTaken || !key_seen_) return false;
  if (prefix_seen_ && builder_.Finish(dst)) return true;
  Drop(prefix_seen_ ? State::kUnfit : State::kNoExtractor);
  return false;
}

void RangeKeys::Reset() {
  if (key_seen_) {
    builder_ = RangePartBuilder(bits_per_key_);
    if (seed_.has_value()) builder_.SetSeed(*seed_);
  }
  state_ = bits_per_key_ == 0 ? State::kOff : State::kTaken;
  prefix_seen_ = false;
  key_seen_ = false;
}

}  // namespace deltabloom::internal
