// Counts what this program allocates, in the libraries it uses too.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_ALLOCATIONS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_ALLOCATIONS_H_

#include <cstdint>

namespace deltabloom::bench {

// Counts from construction to destruction, in all threads; one at a time.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  // The most bytes allocated at one moment beyond those at the start, as the
  // allocator rounds them.
  uint64_t PeakBytes() const;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_ALLOCATIONS_H_
