#include "tests/util/replaced_new.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

// The header of each block has its size, and the alignment that new promises.
constexpr size_t kHeader = alignof(std::max_align_t);

std::atomic<size_t> live_bytes{0}, peak_bytes{0}, allocations{0},
    largest_block{0};
std::atomic<long> allocations_left{-1};
std::atomic<bool> failed{false}, fails_on{false};

void Raise(std::atomic<size_t>* most, size_t value) {
  *most = std::max(most->load(), value);
}

bool FailsNow() {
  if (allocations_left < 0 || allocations_left-- != 0) return false;
  failed = true;
  if (fails_on) allocations_left = 0;
  return true;
}

}  // namespace

// Programs that are linked with --wrap=calloc delete what calloc returned. So
// no block has a header there, and nothing is counted.
extern "C" void* __real_calloc(size_t n, size_t size) __attribute__((weak));
extern "C" void* __wrap_calloc(size_t n, size_t size);
void* __wrap_calloc(size_t n, size_t size) {
  return FailsNow() ? nullptr : __real_calloc(n, size);
}

// All forms that end in one another by default: a sanitizer's do not.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  if (FailsNow()) return nullptr;
  if (__real_calloc != nullptr) return std::malloc(size);
  auto* block = static_cast<char*>(std::malloc(kHeader + size));
  if (block == nullptr) return nullptr;
  *reinterpret_cast<size_t*>(block) = size;
  Raise(&peak_bytes, live_bytes += size);
  Raise(&largest_block, size);
  ++allocations;
  return block + kHeader;
}

void* operator new(size_t size) {
  void* block = operator new(size, std::nothrow);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* operator new[](size_t size) { return operator new(size); }

void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return operator new(size, std::nothrow);
}

void operator delete(void* pointer) noexcept {
  if (pointer == nullptr || __real_calloc != nullptr) return std::free(pointer);
  char* block = static_cast<char*>(pointer) - kHeader;
  live_bytes -= *reinterpret_cast<size_t*>(block);
  std::free(block);
}

void operator delete(void* pointer, size_t) noexcept {
  operator delete(pointer);
}

void operator delete[](void* pointer) noexcept { operator delete(pointer); }

void operator delete[](void* pointer, size_t) noexcept {
  operator delete(pointer);
}

namespace deltabloom::test {

size_t LiveBytes() { return live_bytes; }
size_t PeakBytes() { return peak_bytes; }

void ResetPeak() {
  peak_bytes = live_bytes.load();
  largest_block = 0;
}

size_t Allocations() { return allocations; }
size_t LargestBlock() { return largest_block; }

void FailAllocation(long number, bool and_later_ones) {
  fails_on = and_later_ones;
  allocations_left = number;
  failed = false;
}

bool AllocationFailed() { return failed; }

}  // namespace deltabloom::test
