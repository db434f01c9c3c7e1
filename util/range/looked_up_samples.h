// Samples of ranges that were looked up.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "util/range/sample.h"

namespace deltabloom::internal::range {

// Keeps ranges that were looked up, and finds those in which a table has no key
// while its keys come in ascending order. The ranges stay for the next table.
class LookedUpSamples {
 public:
  // kMaxCutBytes of each bound count. REQUIRES: no key was noted.
  void Add(std::string_view lower, std::string_view upper, double weight);

  // Notes a key, of which kMaxCutBytes count. `before` is the key before it,
  // and `shared` the number of bytes with which both begin.
  void NoteKey(std::string_view key, std::string_view before, size_t shared);

  // Returns at most kMostSamples of those that hold no key, spread evenly over
  // the keys.
  std::vector<Sample> Get() const;

  // Returns how much memory this takes, together with what Get() returns.
  size_t MemorySize() const;

  void ForgetKeys();

 private:
  // An estimate of a share p by this many samples is within
  // sqrt(p * (1 - p) / 256) = 3 %.
  static constexpr size_t kMostSamples = 256;

  // A sample that holds no key.
  struct WithoutKey {
    size_t sample;              // its place in samples_
    std::string before, after;  // the keys around it
  };

  void Sort();

  // In the order of their bounds from the first key on; keys are at or beyond
  // the lower bounds of those before `next_`.
  std::vector<Sample> samples_;
  bool is_sorted_ = true;
  size_t next_ = 0;
  size_t next_shared_ = 0;  // bytes with which it and the last key begin
  bool any_key_ = false;
  std::vector<WithoutKey> without_key_;
  size_t bytes_of_bounds_ = 0;  // of samples_
  size_t bytes_of_keys_ = 0;    // of without_key_
};

}  // namespace deltabloom::internal::range
