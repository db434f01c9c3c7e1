// Filters that are built to be measured, and the figures that are counted, not
// timed.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_FILTERS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_FILTERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "db_bench_ext/filter_bench/competitors.h"
#include "db_bench_ext/filter_bench/keys.h"

namespace deltabloom::bench {

// A filter of the present keys number first .. first + keys - 1.
struct BuiltFilter {
  std::unique_ptr<const char[]> owner;
  Slice bytes;
  std::unique_ptr<FilterBitsReader> reader;
  uint64_t first = 0;
  uint64_t keys = 0;
};

// *seconds, if not null, gets the time of the builder alone: keys are made
// between its calls.
BuiltFilter BuildFilter(const Competitor& competitor, const KeyMaker& maker,
                        uint64_t first, uint64_t keys,
                        double* seconds = nullptr);

// In place of a filter, for a floor: memory of the same size.
BuiltFilter BuildFloor(const Competitor& floor, uint64_t first, uint64_t keys,
                       double bits_per_key);

// Counts the memory that the calling program allocates while it exists, by the
// sizes that malloc really gives. One at a time.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  uint64_t PeakBytes() const;
};

// Peak memory of building one filter beyond the filter itself, in bytes.
uint64_t MeasureBuildBytes(const Competitor& competitor, const KeyMaker& maker,
                           uint64_t keys);

struct Rate {
  uint64_t samples = 0;
  uint64_t positives = 0;
  double Value() const {
    return static_cast<double>(positives) / static_cast<double>(samples);
  }
};

// Looks up keys that are in none of the filters, each key once, until there are
// enough positives to trust the rate, or max_samples lookups.
Rate MeasureFalsePositives(const std::vector<BuiltFilter>& filters,
                           const KeyMaker& maker, uint64_t max_samples);

// Added keys that a filter rejects, among at most max_samples of them.
uint64_t CountFalseNegatives(const std::vector<BuiltFilter>& filters,
                             const KeyMaker& maker, uint64_t max_samples);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_FILTERS_H_
