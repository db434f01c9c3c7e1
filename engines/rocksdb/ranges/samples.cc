#include "engines/rocksdb/ranges/samples.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/rocksdb/base/errors.h"
#include "util/range/cut.h"
#include "util/range/filter.h"
#include "util/range/range.h"

namespace deltabloom::internal {

void ScanSamples::Note(Kind kind, std::string_view lower,
                       std::string_view upper) {
  OfKind& of_kind = of_kind_[static_cast<size_t>(kind)];
  const uint32_t seen = of_kind.seen.fetch_add(1, std::memory_order_relaxed);
  if (seen >= kScansOfKind && seen % kEvery != 0) return;
  lower = lower.substr(0, range::kMaxCutBytes);
  upper = upper.substr(0, range::kMaxCutBytes);
  // They can be equal now that they are cut.
  if (lower >= upper) return;
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  WithoutThrowing([&] {
    std::vector<range::Range>& ranges = of_kind.ranges;
    range::Range range{std::string(lower), std::string(upper)};
    if (ranges.size() < kScansOfKind) {
      ranges.push_back(std::move(range));
      return;
    }
    ranges[of_kind.next] = std::move(range);
    of_kind.next = (of_kind.next + 1) % kScansOfKind;
  });
}

std::vector<range::Range> ScanSamples::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<range::Range> all;
  for (const OfKind& of_kind : of_kind_) {
    all.insert(all.end(), of_kind.ranges.begin(), of_kind.ranges.end());
  }
  return all;
}

void EarlierCuts::Note(const range::Filter& filter, size_t filter_size) {
  if (filter_size <= size_.load(std::memory_order_relaxed)) return;
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || filter_size <= size_) return;
  WithoutThrowing([&] {
    std::vector<range::Cut> cuts = filter.LearnedCuts();
    if (cuts.empty()) return;
    cuts_ = std::move(cuts);
    size_ = filter_size;
  });
}

std::vector<range::Cut> EarlierCuts::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cuts_;
}

}  // namespace deltabloom::internal
