#include "db_bench_ext/filter_bench/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

// operator new ends in malloc, so malloc and its kin are what is replaced.
// While nobody counts, that costs one load per call.
//
// The sanitizers replace malloc themselves and offer hooks instead.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DELTABLOOM_BENCH_SANITIZER_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DELTABLOOM_BENCH_SANITIZER_MALLOC 1
#endif
#endif

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};

void CountAllocated(size_t bytes) {
  const auto signed_bytes = static_cast<int64_t>(bytes);
  const int64_t live =
      live_bytes.fetch_add(signed_bytes, std::memory_order_relaxed) +
      signed_bytes;
  int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(
                            peak, live, std::memory_order_relaxed)) {
  }
}

void CountFreed(size_t bytes) {
  live_bytes.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

inline bool Counting() { return counting.load(std::memory_order_relaxed); }

}  // namespace

#ifdef DELTABLOOM_BENCH_SANITIZER_MALLOC

extern "C" {
int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void*, size_t),
    void (*free_hook)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* block);
}

namespace {

void InstallHooks() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, size_t bytes) {
        if (Counting()) CountAllocated(bytes);
      },
      [](const volatile void* block) {
        if (Counting()) CountFreed(__sanitizer_get_allocated_size(block));
      });
  static_cast<void>(installed);
}

}  // namespace

#else

// glibc's own, under the names that stay when malloc is replaced.
extern "C" {
void* __libc_malloc(size_t bytes);
void __libc_free(void* block);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

void InstallHooks() {}

inline void* Counted(void* block) {
  if (Counting() && block != nullptr) CountAllocated(malloc_usable_size(block));
  return block;
}

inline void CountFree(void* block) {
  if (Counting() && block != nullptr) CountFreed(malloc_usable_size(block));
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) { return Counted(__libc_malloc(bytes)); }

void free(void* block) {
  CountFree(block);
  __libc_free(block);
}

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
  return Counted(__libc_memalign(alignment, bytes));
}

int posix_memalign(void** block, size_t alignment, size_t bytes) {
  void* allocated = Counted(__libc_memalign(alignment, bytes));
  if (allocated == nullptr) return ENOMEM;
  *block = allocated;
  return 0;
}

}  // extern "C"

#endif

namespace deltabloom::bench {

AllocationCounter::AllocationCounter() {
  InstallHooks();
  live_bytes = 0;
  peak_bytes = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

uint64_t AllocationCounter::PeakBytes() const {
  return static_cast<uint64_t>(std::max<int64_t>(peak_bytes, 0));
}

}  // namespace deltabloom::bench
