#include "engines/rocksdb/statistics/counting_reader.h"

#include <algorithm>
#include <atomic>

#include "util/layouts/layout.h"

namespace deltabloom::internal {

constexpr auto kRelaxed = std::memory_order_relaxed;

OpenFilter::OpenFilter(std::shared_ptr<PolicyStatistics> statistics,
                       const FilterToCount& filter)
    : statistics_(std::move(statistics)),
      group_(&statistics_->Group(ClassOf(filter.filter, filter.kind))),
      bytes_(filter.filter.size()) {
  if (filter.kind == FilterKind::kFilter) {
    const auto last_byte = static_cast<uint8_t>(filter.filter.back());
    const LayoutRow* const row =
        FindLayoutOfLastByte(last_byte, Hash::kMurmurHash2);
    const ContentEstimate estimate = row->estimate(*filter.parsed);
    keys_ = static_cast<uint64_t>(estimate.keys + 0.5);
    // A rate of 1 leaves nothing to divide by, and no negatives.
    const double rate = std::min(estimate.rate, 0.999999);
    expected_[0] = rate / (1 - rate);
  }
  group_->filters_open.fetch_add(1, kRelaxed);
  group_->bytes_open.fetch_add(bytes_, kRelaxed);
  group_->keys_open.fetch_add(keys_, kRelaxed);
  Tick();
}

OpenFilter::~OpenFilter() {
  group_->filters_open.fetch_sub(1, kRelaxed);
  group_->bytes_open.fetch_sub(bytes_, kRelaxed);
  group_->keys_open.fetch_sub(keys_, kRelaxed);
}

}  // namespace deltabloom::internal
