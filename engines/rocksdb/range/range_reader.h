// A reader of a filter with a range part.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_READER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_READER_H_

#include <string_view>
#include <utility>

#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/range/range_extractor.h"
#include "engines/rocksdb/statistics/lookup_counters.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "util/range/range_part.h"

namespace deltabloom::internal {

// `PointReader` answers all but questions about ranges. Those come one by one:
// a batch is of keys or of their prefixes.
template <typename PointReader>
class RangeReader final : public ROCKSDB_NAMESPACE::FilterBitsReader {
 public:
  using Slice = ROCKSDB_NAMESPACE::Slice;

  // `seed` is null unless the filter is seeded. Ranges are counted in `group`,
  // which may be null.
  template <typename... Arguments>
  RangeReader(std::string_view range_part, const SipHashKey* seed,
              const FilterGroup* group, Arguments&&... arguments)
      : range_part_(range_part, seed),
        group_(group),
        points_(std::forward<Arguments>(arguments)...) {}

  bool MayMatch(const Slice& key) override {
    if (__builtin_expect(key.size() == 0, false)) return EmptyMayMatch(key);
    return points_.MayMatch(key);
  }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    points_.MayMatch(n, keys, may_match);
  }

 private:
  // Apart, so that a lookup of a key needs no room for bounds.
  __attribute__((noinline)) bool EmptyMayMatch(const Slice& key) {
    Bounds bounds;
    return TakeBounds(key, &bounds) ? RangeMayMatch(bounds)
                                    : points_.MayMatch(key);
  }

  // The empty key may be there: builders do not tell it from a prefix.
  //
  // RocksDB asks a partition for a range that may go on in the next one. The
  // partition is the first that ends at or behind `lower`, so what is in the
  // range is in it or behind it; behind it is nothing if it has a key from
  // `upper` on.
  bool RangeMayMatch(const Bounds& bounds) const {
    const bool may_match = bounds.lower.empty() ||
                           range_part_.MayMatch(bounds.lower, bounds.upper) ||
                           !range_part_.HasKeyFrom(bounds.upper);
    if (group_ != nullptr) {
      CountLookups(group_->range_slot, 1, may_match ? 0 : 1, 0);
    }
    return may_match;
  }

  const RangePart range_part_;
  const FilterGroup* const group_;
  PointReader points_;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_RANGE_RANGE_READER_H_
