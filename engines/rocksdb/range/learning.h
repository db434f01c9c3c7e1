// What the filters of a column family learn from their lookups: a sample of the
// ranges, by which builders choose range parts, and the shares of keys and
// ranges, by which they divide bits_per_key.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/range/shapes.h"

namespace deltabloom::internal {

// A bounded sample of the ranges that scans look up: the first ones, later one
// in kEvery. A scan that queries several filters counts once. One half is of
// ranges that all filters rejected, the other of ranges that some filter let
// pass. Thread-safe; lookups never wait: a range that comes while another
// thread stores one is dropped.
class RangeSample {
 public:
  static constexpr uint32_t kHalf = 128;  // ranges
  static constexpr uint32_t kEvery = 32;

  // A filter was queried for the range. REQUIRES: lower < upper. No exceptions.
  void Note(std::string_view lower, std::string_view upper, bool may_match);

  // Lower and upper bounds, the first range::kMaxCutBytes of each. Throws
  // std::bad_alloc.
  std::vector<std::pair<std::string, std::string>> Get() const;

 private:
  // kPending: of scans that all filters rejected so far.
  enum Part : uint32_t { kRejected, kPassed, kPending };
  static constexpr uint32_t kSizes[] = {kHalf, kHalf, 16};
  static constexpr uint32_t kBegins[] = {0, kHalf, 2 * kHalf};

  struct Question {
    uint64_t scan = 0;
    std::pair<std::string, std::string> bounds;  // empty: nothing is here
  };

  uint32_t Store(Part part, Question question);

  mutable std::mutex mutex_;          // of the rest
  std::vector<Question> questions_;   // the parts; none before the first range
  std::array<uint32_t, 3> stored_{};  // in each part
};

// A prefix extractor has one. Thread-safe.
class RangeLearning {
 public:
  RangeSample sample;

  // What `source` counted since it was made: lookups of keys and of ranges.
  void CountLookups(const void* source, uint64_t keys, uint64_t ranges);
  // The range part's share of bits_per_key; half as long as there were few
  // lookups. REQUIRES: bits_per_key >= kMinBitsPerKeyWithRanges.
  double RangeBits(double bits_per_key) const;

  // Whether this line is none of the last that were passed. Throws
  // std::bad_alloc.
  bool IsNews(const std::string& line);

 private:
  mutable std::mutex mutex_;  // of the rest
  const void* source_ = nullptr;
  uint64_t source_keys_ = 0, source_ranges_ = 0;
  double keys_ = 0, ranges_ = 0;  // of the last lookups
  std::vector<std::string> news_;
};

// The cuts of the largest range part that a policy opened and that sampled
// ranges chose. Thread-safe.
class OpenedCuts {
 public:
  // Without memory it is not taken.
  void Note(std::string_view range_part);
  // Throws std::bad_alloc.
  std::vector<range::Cut> Get() const;

 private:
  mutable std::mutex mutex_;  // of the rest
  uint64_t size_ = 0;
  std::vector<range::Cut> cuts_;
};

}  // namespace deltabloom::internal
