#include "engines/rocksdb/statistics/lookup_counters.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "engines/rocksdb/policy/process_wide.h"

namespace deltabloom::internal {

__thread LookupCells this_threads_cells = {nullptr, 0};
std::atomic<TickFunction> lookup_tick{nullptr};

namespace {

constexpr uint32_t kFewestCells = 16;

__thread bool this_thread_ended = false;

LookupTotals Read(const LookupCell& cell) {
  LookupTotals totals;
  totals.negatives = cell.negatives.load(std::memory_order_acquire);
  totals.lookups = cell.lookups.load(std::memory_order_relaxed);
  totals.expected = cell.expected.load(std::memory_order_relaxed);
  return totals;
}

void Add(const LookupTotals& part, LookupTotals* sum) {
  sum->lookups += part.lookups;
  sum->negatives += part.negatives;
  sum->expected += part.expected;
}

void Write(const LookupTotals& totals, LookupCell* cell) {
  cell->lookups.store(totals.lookups, std::memory_order_relaxed);
  cell->negatives.store(totals.negatives, std::memory_order_relaxed);
  cell->expected.store(totals.expected, std::memory_order_relaxed);
}

// All threads' cells, and what ended threads counted. Only the thread itself
// changes which cells it has, with the mutex held.
struct AllCells {
  std::vector<LookupCells*> threads;
  std::vector<LookupTotals> ended;  // by slot
  std::vector<uint32_t> free_slots;

  LookupTotals Sum(uint32_t slot) const {
    LookupTotals sum = ended[slot];
    for (const LookupCells* thread : threads) {
      if (slot < thread->size) Add(Read(thread->cells[slot]), &sum);
    }
    return sum;
  }
};

// Cells for at least `size` slots, with the mutex held; false without memory.
bool GrowCells(AllCells* all, uint32_t size) {
  LookupCells& mine = this_threads_cells;
  size = std::max({size, kFewestCells, 2 * mine.size});
  std::unique_ptr<LookupCell[]> cells(new (std::nothrow) LookupCell[size]);
  if (cells == nullptr) return false;
  for (uint32_t i = 0; i < mine.size; ++i) {
    Write(Read(mine.cells[i]), &cells[i]);
  }
  try {
    if (mine.cells == nullptr) all->threads.push_back(&mine);
  } catch (const std::bad_alloc&) {
    return false;
  }
  delete[] mine.cells;
  mine = {cells.release(), size};
  return true;
}

// Adds what the thread counted to the totals of ended threads.
struct AtEndOfThread {
  // Makes the thread construct it, which registers its destructor.
  void Use() const {}

  ~AtEndOfThread() {
    ProcessWide<AllCells> all;
    LookupCells& mine = this_threads_cells;
    for (uint32_t i = 0; i < mine.size && i < all->ended.size(); ++i) {
      Add(Read(mine.cells[i]), &all->ended[i]);
    }
    all->threads.erase(
        std::remove(all->threads.begin(), all->threads.end(), &mine),
        all->threads.end());
    delete[] mine.cells;
    mine = {nullptr, 0};
    this_thread_ended = true;
  }
};

thread_local const AtEndOfThread at_end_of_thread;

}  // namespace

uint32_t NewLookupSlot() {
  ProcessWide<AllCells> all;
  if (!all->free_slots.empty()) {
    const uint32_t slot = all->free_slots.back();
    all->free_slots.pop_back();
    return slot;
  }
  all->free_slots.reserve(all->ended.size() +
                          1);  // so that freeing cannot fail
  all->ended.emplace_back();
  return static_cast<uint32_t>(all->ended.size() - 1);
}

LookupTotals FreeLookupSlot(uint32_t slot) {
  ProcessWide<AllCells> all;
  const LookupTotals sum = all->Sum(slot);
  all->ended[slot] = {};
  for (LookupCells* thread : all->threads) {
    if (slot < thread->size) Write({}, &thread->cells[slot]);
  }
  all->free_slots.push_back(slot);
  return sum;
}

LookupTotals SumLookups(uint32_t slot) {
  ProcessWide<AllCells> all;
  return all->Sum(slot);
}

void CountLookupsSlowly(uint32_t slot, uint64_t lookups, uint64_t negatives,
                        double expected) {
  if (!this_thread_ended) at_end_of_thread.Use();
  {
    ProcessWide<AllCells> all;
    if (this_thread_ended || !GrowCells(&*all, slot + 1)) {
      Add({lookups, negatives, expected}, &all->ended[slot]);
      return;
    }
  }
  CountLookups(slot, lookups, negatives, expected);
}

}  // namespace deltabloom::internal
