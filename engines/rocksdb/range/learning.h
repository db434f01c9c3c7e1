// What the filters of a column family learn from their lookups: a sample of the
// ranges, by which builders choose range parts, and the shares of keys and
// ranges, by which they divide bits_per_key.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_RANGE_LEARNING_H_
#define DELTABLOOM_ENGINES_ROCKSDB_RANGE_LEARNING_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/range/key_store.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal {

// A bounded sample of the ranges that scans look up: the first ones, later one
// in kEvery. A scan that queries several filters counts once. One half is of
// ranges that all filters rejected, the other of ranges that some filter let
// pass. Thread-safe, without a lock: what finds a place in use is dropped.
// Nothing throws unless it says so.
class RangeSample {
 public:
  static constexpr uint32_t kHalf = 128;  // ranges
  static constexpr uint32_t kEvery = 32;

  RangeSample() = default;
  ~RangeSample() { delete[] slots_.load(); }
  RangeSample(const RangeSample&) = delete;
  RangeSample& operator=(const RangeSample&) = delete;

  // A filter was queried for the range. REQUIRES: lower < upper.
  void Note(std::string_view lower, std::string_view upper, bool may_match);

  // Lower and upper bounds, the first range::kMaxCutBytes of each. Throws
  // std::bad_alloc.
  std::vector<std::pair<std::string, std::string>> Get() const;

 private:
  // kPending: of scans that all filters rejected so far.
  enum Part : uint32_t { kRejected, kPassed, kPending };
  static constexpr uint32_t kSizes[] = {kHalf, kHalf, 16};
  static constexpr uint32_t kBegins[] = {0, kHalf, 2 * kHalf};
  static constexpr uint32_t kSlots = 2 * kHalf + 16;

  struct Question {
    uint64_t scan = 0;
    uint8_t lower_size = 0;
    uint8_t upper_size = 0;  // 0: nothing is here
    std::array<char, 2 * range::kMaxCutBytes> bounds;
  };
  struct Slot {
    std::atomic<bool> busy{false};
    Question question;
  };
  class InUse;

  // Of kSlots, made with the first range; null without memory.
  Slot* Slots();
  // Returns 1 + the slot; 0 if it is in use.
  uint32_t Store(Part part, const Question& question);
  // Takes what a scan left in the slot; false if another scan is there.
  bool TakeBack(uint32_t place, uint64_t scan, Question* question);

  std::atomic<Slot*> slots_{nullptr};
  std::array<std::atomic<uint32_t>, 3> stored_{};  // in each part
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

// The cuts of the largest range part that a policy opened: what an earlier
// process learned. Thread-safe.
class OpenedCuts {
 public:
  // Without memory it is not taken.
  void Note(std::string_view range_part);
  // Throws std::bad_alloc.
  std::vector<range::Cut> Get() const;

 private:
  std::atomic<uint64_t> size_{0};
  mutable std::mutex mutex_;
  std::vector<range::Cut> cuts_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_RANGE_LEARNING_H_
