#include "engines/rocksdb/range/learning.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <thread>

#include "engines/rocksdb/policy/options.h"
#include "util/hash64.h"
#include "util/range/range_part.h"

namespace deltabloom::internal {
namespace {

// Fewer lookups say little about shares.
constexpr uint64_t kLeastLookups = 1000;
// Older lookups than this many are forgotten by and by.
constexpr double kLookupsKept = 1e6;
constexpr double kLeastRangeBits = 4;
constexpr double kLeastKeyBits = 2;
// Lines of what was learned: tables of several levels may differ for good.
constexpr size_t kNewsKept = 16;

// The last scan of one thread.
struct Scan {
  uint64_t id;  // of its sample and bounds
  const RangeSample* sample;
  uint32_t place;      // where it is pending, from 1 on; 0: nowhere
  uint32_t countdown;  // scans until one is stored
};

// Initial-exec, as statistics.h explains.
__thread Scan this_threads_scan __attribute__((tls_model("initial-exec")));

}  // namespace

// Takes a slot as long as it lives, unless another thread has it.
class RangeSample::InUse {
 public:
  explicit InUse(Slot* slot)
      : slot_(slot),
        taken_(!slot->busy.exchange(true, std::memory_order_acquire)) {}
  ~InUse() {
    if (taken_) slot_->busy.store(false, std::memory_order_release);
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

  bool taken() const { return taken_; }

 private:
  Slot* const slot_;
  const bool taken_;
};

RangeSample::Slot* RangeSample::Slots() {
  Slot* slots = slots_.load(std::memory_order_acquire);
  if (slots != nullptr) return slots;
  Slot* const made = new (std::nothrow) Slot[kSlots];
  if (slots_.compare_exchange_strong(slots, made)) return made;
  delete[] made;
  return slots;
}

void RangeSample::Note(std::string_view lower, std::string_view upper,
                       bool may_match) {
  lower = lower.substr(0, range::kMaxCutBytes);
  upper = upper.substr(0, range::kMaxCutBytes);
  const uint64_t id = Remix64(Hash64(lower.data(), lower.size()),
                              Hash64(upper.data(), upper.size())) +
                      reinterpret_cast<uintptr_t>(this);
  Scan& scan = this_threads_scan;
  if (id == scan.id && (!may_match || scan.place == 0)) return;
  // The last scan is over, or this one is not rejected any more.
  Question question;
  if (scan.place != 0 && scan.sample == this &&
      TakeBack(scan.place - 1, scan.id, &question)) {
    Store(id == scan.id ? kPassed : kRejected, question);
  }
  scan.place = 0;
  if (id == scan.id) return;
  scan.id = id;
  scan.sample = this;
  if (scan.countdown > 0) {
    --scan.countdown;
    return;
  }
  const uint32_t stored = stored_[kPending].load(std::memory_order_relaxed) +
                          stored_[kPassed].load(std::memory_order_relaxed);
  // A fixed distance could always meet the same kind of scan.
  if (stored >= 2 * kHalf) {
    scan.countdown = static_cast<uint32_t>(id % (2 * kEvery - 1));
  }
  if (lower >= upper) return;  // as they are cut
  question.scan = id;
  question.lower_size = static_cast<uint8_t>(lower.size());
  question.upper_size = static_cast<uint8_t>(upper.size());
  std::memcpy(question.bounds.data(), lower.data(), lower.size());
  std::memcpy(question.bounds.data() + range::kMaxCutBytes, upper.data(),
              upper.size());
  const uint32_t place = Store(may_match ? kPassed : kPending, question);
  if (!may_match) scan.place = place;
}

uint32_t RangeSample::Store(Part part, const Question& question) {
  Slot* const slots = Slots();
  if (slots == nullptr) return 0;
  const uint32_t place =
      kBegins[part] +
      stored_[part].fetch_add(1, std::memory_order_relaxed) % kSizes[part];
  const InUse in_use(&slots[place]);
  if (!in_use.taken()) return 0;
  slots[place].question = question;
  return place + 1;
}

bool RangeSample::TakeBack(uint32_t place, uint64_t scan, Question* question) {
  Slot* const slots = Slots();
  if (slots == nullptr) return false;
  Slot* const slot = slots + place;
  const InUse in_use(slot);
  if (!in_use.taken() || slot->question.scan != scan) return false;
  *question = slot->question;
  slot->question.upper_size = 0;
  return true;
}

std::vector<std::pair<std::string, std::string>> RangeSample::Get() const {
  std::vector<std::pair<std::string, std::string>> questions;
  Slot* const slots = slots_.load(std::memory_order_acquire);
  if (slots == nullptr) return questions;
  questions.reserve(kSlots);
  for (Slot* slot = slots; slot < slots + kSlots; ++slot) {
    // Another thread copies some bytes, or was interrupted meanwhile.
    for (int attempts = 0; attempts < 100; ++attempts) {
      const InUse in_use(slot);
      if (!in_use.taken()) {
        std::this_thread::yield();
        continue;
      }
      const Question& question = slot->question;
      if (question.upper_size > 0) {
        const char* const bounds = question.bounds.data();
        questions.push_back(
            {std::string(bounds, question.lower_size),
             std::string(bounds + range::kMaxCutBytes, question.upper_size)});
      }
      break;
    }
  }
  return questions;
}

void RangeLearning::CountLookups(const void* source, uint64_t keys,
                                 uint64_t ranges) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // A policy that SetOptions made counts from 0 on.
  if (source != source_ || keys < source_keys_ || ranges < source_ranges_) {
    source_ = source;
    source_keys_ = source_ranges_ = 0;
  }
  const uint64_t more_keys = keys - source_keys_;
  const uint64_t more_ranges = ranges - source_ranges_;
  if (more_keys + more_ranges < kLeastLookups) return;
  source_keys_ = keys;
  source_ranges_ = ranges;
  const double kept =
      std::min(1.0, kLookupsKept / std::max(1.0, keys_ + ranges_));
  keys_ = kept * keys_ + static_cast<double>(more_keys);
  ranges_ = kept * ranges_ + static_cast<double>(more_ranges);
}

// A bit less for one part doubles what it lets through; the sum of both is
// least where their shares of lookups, times their rates, are equal.
double RangeLearning::RangeBits(double bits_per_key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double half = RangeBitsPerKey(bits_per_key);
  if (keys_ + ranges_ == 0) return half;
  // In steps, so that tables do not differ for little.
  const double more = std::round(std::log2((ranges_ + 1) / (keys_ + 1)) / 2);
  return std::clamp(half + more, kLeastRangeBits,
                    std::max(kLeastRangeBits, bits_per_key - kLeastKeyBits));
}

bool RangeLearning::IsNews(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::find(news_.begin(), news_.end(), line) != news_.end()) return false;
  if (news_.size() == kNewsKept) news_.erase(news_.begin());
  news_.push_back(line);
  return true;
}

void OpenedCuts::Note(std::string_view range_part) {
  if (range_part.size() <= size_.load(std::memory_order_relaxed)) return;
  WithoutThrowing([&] {
    // Numbers have no cuts.
    std::vector<range::Cut> cuts = RangePart(range_part).Cuts();
    const std::lock_guard<std::mutex> lock(mutex_);
    size_ = range_part.size();
    cuts_ = std::move(cuts);
  });
}

std::vector<range::Cut> OpenedCuts::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cuts_;
}

}  // namespace deltabloom::internal
