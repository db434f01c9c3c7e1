#include "engines/rocksdb/statistics/lookup_cells.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/process.h"

namespace deltabloom::internal {

__thread LookupCells this_threads_cells = {nullptr, 0, false};

namespace {

constexpr uint32_t kFewestCells = 16;

LookupTotals Read(const LookupCell& cell) {
  const uint64_t negatives = cell.negatives.load(std::memory_order_acquire);
  return {cell.lookups.load(kRelaxed), negatives, cell.expected.load(kRelaxed)};
}

void Add(const LookupTotals& part, LookupTotals* sum) {
  sum->lookups += part.lookups;
  sum->negatives += part.negatives;
  sum->expected += part.expected;
}

void Write(const LookupTotals& totals, LookupCell* cell) {
  cell->lookups.store(totals.lookups, kRelaxed);
  cell->negatives.store(totals.negatives, kRelaxed);
  cell->expected.store(totals.expected, kRelaxed);
}

// The cells of all threads, and the counts of threads that ended. Only the
// thread itself changes which cells it has, with the lock held.
struct AllCells {
  std::vector<LookupCells*> threads;
  std::vector<LookupTotals> ended;  // by slot
  std::vector<uint32_t> free_slots;
};

Guarded<AllCells>::Access LockAllCells() {
  static Guarded<AllCells>& all = *new Guarded<AllCells>;
  return all.Lock();
}

// Gives this thread cells for at least `size` slots. Throws std::bad_alloc.
void GrowCells(const Guarded<AllCells>::Access& all, uint32_t size) {
  LookupCells& mine = this_threads_cells;
  size = std::max({size, kFewestCells, 2 * mine.size});
  auto cells = std::make_unique<LookupCell[]>(size);
  for (uint32_t i = 0; i < mine.size; ++i) {
    Write(Read(mine.cells[i]), &cells[i]);
  }
  if (mine.cells == nullptr) all->threads.push_back(&mine);
  delete[] mine.cells;
  mine = {cells.release(), size, false};
}

// Adds what the thread counted to the totals of ended threads.
struct AtEndOfThread {
  // Makes the thread construct it, which registers its destructor.
  void Use() const {}

  ~AtEndOfThread() {
    const auto all = LockAllCells();
    LookupCells& mine = this_threads_cells;
    for (uint32_t i = 0; i < mine.size && i < all->ended.size(); ++i) {
      Add(Read(mine.cells[i]), &all->ended[i]);
    }
    all->threads.erase(
        std::remove(all->threads.begin(), all->threads.end(), &mine),
        all->threads.end());
    delete[] mine.cells;
    mine = {nullptr, 0, true};
  }
};

thread_local const AtEndOfThread at_end_of_thread;

}  // namespace

uint32_t NewLookupSlot() {
  const auto all = LockAllCells();
  if (!all->free_slots.empty()) {
    const uint32_t slot = all->free_slots.back();
    all->free_slots.pop_back();
    return slot;
  }
  // Reserves room, so that freeing a slot cannot fail.
  all->free_slots.reserve(all->ended.size() + 1);
  all->ended.emplace_back();
  return static_cast<uint32_t>(all->ended.size() - 1);
}

void FreeLookupSlot(uint32_t slot) {
  const auto all = LockAllCells();
  assert(std::count(all->free_slots.begin(), all->free_slots.end(), slot) == 0);
  all->ended[slot] = {};
  for (LookupCells* thread : all->threads) {
    if (slot < thread->size) Write({}, &thread->cells[slot]);
  }
  all->free_slots.push_back(slot);
}

LookupTotals SumLookups(uint32_t slot) {
  const auto all = LockAllCells();
  LookupTotals sum = all->ended[slot];
  for (const LookupCells* thread : all->threads) {
    if (slot < thread->size) Add(Read(thread->cells[slot]), &sum);
  }
  return sum;
}

void CountLookupsSlowly(uint32_t slot, uint64_t lookups, uint64_t negatives,
                        double expected) {
  if (!this_threads_cells.thread_ended) at_end_of_thread.Use();
  {
    const auto all = LockAllCells();
    if (this_threads_cells.thread_ended ||
        !WithoutThrowing([&] { GrowCells(all, slot + 1); })) {
      Add({lookups, negatives, expected}, &all->ended[slot]);
      return;
    }
  }
  CountLookups(slot, lookups, negatives, expected);
}

}  // namespace deltabloom::internal
