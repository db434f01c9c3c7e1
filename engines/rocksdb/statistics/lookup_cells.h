// Counters of lookups that threads do not share: each thread adds to its own
// cells, with loads and stores only, and a reader sums them up. A *slot* is one
// set of counters; cell i of every thread belongs to slot i. Sums wrap around;
// differences of two sums are right across a wrap. All is thread-safe.
//
// This state belongs to the threads, not to a Process. A thread makes its cells
// when it first counts in a slot. Only the thread itself writes them;
// SumLookups() reads the cells of all threads. When the thread ends, its cells
// are added to the totals of ended threads. Those totals never end, because
// threads may outlive static objects.
#pragma once

#include <atomic>
#include <cstdint>

namespace deltabloom::internal {

struct LookupTotals {
  uint64_t lookups = 0;
  uint64_t negatives = 0;  // lookups answered "absent"
  double expected = 0;     // false positives expected, see CountLookups
};

// How counters are read and written where no order between two of them counts.
inline constexpr auto kRelaxed = std::memory_order_relaxed;

// One thread's part of a slot, in a cache line of its own.
struct alignas(64) LookupCell {
  std::atomic<uint64_t> lookups{0};
  std::atomic<uint64_t> negatives{0};
  std::atomic<double> expected{0};
};

struct LookupCells {
  LookupCell* cells;
  uint32_t size;
  bool thread_ended;  // then there are no cells any more
};

// Initial-exec takes one instruction; __thread needs no initialisation.
extern __thread LookupCells this_threads_cells
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Returns a slot whose counters are 0. Throws std::bad_alloc.
uint32_t NewLookupSlot();

// REQUIRES: the slot is not used any more.
void FreeLookupSlot(uint32_t slot);

// There are never more negatives than lookups.
LookupTotals SumLookups(uint32_t slot);

// Counts in a thread that has no cell for this slot yet.
void CountLookupsSlowly(uint32_t slot, uint64_t lookups, uint64_t negatives,
                        double expected);

// `expected` is, for a filter of rate p, negatives * p / (1 - p): a share of
// 1 - p of the absent keys that were looked up are negatives.
inline void CountLookups(uint32_t slot, uint64_t lookups, uint64_t negatives,
                         double expected) {
  const LookupCells mine = this_threads_cells;
  if (__builtin_expect(slot >= mine.size, 0)) {
    CountLookupsSlowly(slot, lookups, negatives, expected);
    return;
  }
  LookupCell& cell = mine.cells[slot];
  cell.lookups.store(cell.lookups.load(kRelaxed) + lookups, kRelaxed);
  cell.expected.store(cell.expected.load(kRelaxed) + expected, kRelaxed);
  // Last, and read first: never more than the lookups.
  cell.negatives.store(cell.negatives.load(kRelaxed) + negatives,
                       std::memory_order_release);
}

}  // namespace deltabloom::internal
