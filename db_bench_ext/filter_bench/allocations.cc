// Counts allocated memory: operator new ends in malloc, so malloc and its kin
// are replaced.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "db_bench_ext/filter_bench/filters.h"

// While nothing is counted, that costs one load per call. Not in a sanitizer's
// build, whose own malloc this would replace.
namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};

}  // namespace

#ifndef DELTABLOOM_BENCH_KEEP_MALLOC

// glibc's own, under the names that stay when malloc is replaced.
extern "C" {
void* __libc_malloc(size_t bytes);
void __libc_free(void* block);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

bool Counting() { return counting.load(std::memory_order_relaxed); }

void* Counted(void* block) {
  if (!Counting() || block == nullptr) return block;
  const auto bytes = static_cast<int64_t>(malloc_usable_size(block));
  const int64_t live = live_bytes.fetch_add(bytes) + bytes;
  int64_t peak = peak_bytes.load();
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return block;
}

void CountFree(void* block) {
  if (!Counting() || block == nullptr) return;
  live_bytes -= static_cast<int64_t>(malloc_usable_size(block));
}

}  // namespace

// Exported, so that shared libraries call these: clang hides them otherwise.
#pragma GCC visibility push(default)
extern "C" {

void* malloc(size_t bytes) { return Counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) {
  return Counted(__libc_calloc(count, bytes));
}
void* realloc(void* block, size_t bytes) {
  CountFree(block);
  return Counted(__libc_realloc(block, bytes));
}
void* memalign(size_t alignment, size_t bytes) {
  return Counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  CountFree(block);
  __libc_free(block);
}

}  // extern "C"
#pragma GCC visibility pop

#endif  // DELTABLOOM_BENCH_KEEP_MALLOC

namespace deltabloom::bench {

AllocationCounter::AllocationCounter() {
  live_bytes = 0;
  peak_bytes = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

uint64_t AllocationCounter::PeakBytes() const {
  return static_cast<uint64_t>(std::max<int64_t>(peak_bytes, 0));
}

}  // namespace deltabloom::bench
