#include "engines/rocksdb/ranges/sample.h"

#include "engines/rocksdb/base/errors.h"

namespace deltabloom::internal {

void ScanSample::Note(Kind kind, std::string_view lower,
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
    std::vector<Bounds>& bounds = of_kind.bounds;
    if (bounds.size() < kScansOfKind) {
      bounds.emplace_back(lower, upper);
      return;
    }
    bounds[of_kind.next] = {std::string(lower), std::string(upper)};
    of_kind.next = (of_kind.next + 1) % kScansOfKind;
  });
}

std::vector<ScanSample::Bounds> ScanSample::Get() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Bounds> all;
  for (const OfKind& of_kind : of_kind_) {
    all.insert(all.end(), of_kind.bounds.begin(), of_kind.bounds.end());
  }
  return all;
}

void EarlierCuts::Note(const RangePart& filter, size_t filter_size) {
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
