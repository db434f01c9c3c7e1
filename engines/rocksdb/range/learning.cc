#include "engines/rocksdb/range/learning.h"

#include <algorithm>
#include <cmath>

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

void RangeSample::Note(std::string_view lower, std::string_view upper,
                       bool may_match) {
  lower = lower.substr(0, range::kMaxCutBytes);
  upper = upper.substr(0, range::kMaxCutBytes);
  const uint64_t id =
      Remix64(Hash64(lower), Hash64(upper)) + reinterpret_cast<uintptr_t>(this);
  Scan& scan = this_threads_scan;
  const Scan last = scan;
  const bool is_new = id != last.id;
  if (!is_new && (!may_match || last.place == 0)) return;
  scan = {id, this, 0, last.countdown};
  if (is_new && last.countdown > 0) --scan.countdown;
  // The bounds can be equal as they are cut.
  const bool stores = is_new && last.countdown == 0 && lower < upper;
  if (last.place == 0 && !stores) return;
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  WithoutThrowing([&] {
    questions_.resize(kBegins[kPending] + kSizes[kPending]);
    if (last.place != 0 && last.sample == this) {
      Question& pending = questions_[last.place - 1];
      if (pending.scan == last.id) {
        // That scan is over, or it is this one and passes now.
        Store(is_new ? kRejected : kPassed, std::exchange(pending, {}));
      }
    }
    if (!stores) return;
    if (stored_[kPending] + stored_[kPassed] >= 2 * kHalf) {
      // A fixed distance could always meet the same kind of scan.
      scan.countdown = static_cast<uint32_t>(id % (2 * kEvery - 1));
    }
    const uint32_t place =
        Store(may_match ? kPassed : kPending,
              {id, {std::string(lower), std::string(upper)}});
    if (!may_match) scan.place = place + 1;
  });
}

uint32_t RangeSample::Store(Part part, Question question) {
  const uint32_t place = kBegins[part] + stored_[part]++ % kSizes[part];
  // A thread left it pending that went on to another sample, or whose scan was
  // slower than those of many others.
  if (part == kPending && questions_[place].scan != 0) {
    Store(kRejected, std::move(questions_[place]));
  }
  questions_[place] = std::move(question);
  return place;
}

std::vector<std::pair<std::string, std::string>> RangeSample::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<std::string, std::string>> bounds;
  for (const Question& question : questions_) {
    if (!question.bounds.second.empty()) bounds.push_back(question.bounds);
  }
  return bounds;
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
  // In steps, so that tables do not differ for little.
  const double more = std::round(std::log2((ranges_ + 1) / (keys_ + 1)) / 2);
  return std::clamp(half + more, kLeastRangeBits, bits_per_key - kLeastKeyBits);
}

bool RangeLearning::IsNews(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::find(news_.begin(), news_.end(), line) != news_.end()) return false;
  if (news_.size() == kNewsKept) news_.erase(news_.begin());
  news_.push_back(line);
  return true;
}

void OpenedCuts::Note(std::string_view range_part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (range_part.size() <= size_) return;
  WithoutThrowing([&] {
    std::vector<range::Cut> cuts = RangePart(range_part).LearnedCuts();
    if (cuts.empty()) return;
    cuts_ = std::move(cuts);
    size_ = range_part.size();
  });
}

std::vector<range::Cut> OpenedCuts::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cuts_;
}

}  // namespace deltabloom::internal
