// What the range parts of a column family learn from the ranges that are looked
// up: a sample of them, from which builders choose.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_RANGE_LEARNING_H_
#define DELTABLOOM_ENGINES_ROCKSDB_RANGE_LEARNING_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "util/range/prefixes.h"

namespace deltabloom::internal {

// A bounded sample of the ranges that scans look up. Thread-safe, without a
// lock: what finds a place in use is dropped. Nothing throws unless it says so.
//
// The first ranges are all taken, later ones one in kEvery. A scan that asks
// several filters counts once. One half of the sample is of ranges that all
// filters rejected, the other of ranges that some filter let pass: scans that
// find keys can displace only empty ones that filters do not recognise.
class __attribute__((visibility("hidden"))) RangeSample {
 public:
  static constexpr uint32_t kHalf = 128;  // ranges
  static constexpr uint32_t kEvery = 32;

  RangeSample() = default;
  ~RangeSample() { delete[] slots_.load(); }
  RangeSample(const RangeSample&) = delete;
  RangeSample& operator=(const RangeSample&) = delete;

  // A filter was queried for the range. REQUIRES: lower < upper.
  void Note(std::string_view lower, std::string_view upper, bool may_match);

  // The sample: the first range::kMaxCutBytes of each bound. Throws
  // std::bad_alloc.
  std::vector<range::Question> Get() const;

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

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_RANGE_LEARNING_H_
