#include <algorithm>
#include <cstdlib>
#include <new>

#include "tests/util/replaced_new.h"

namespace {

// In front of each block: its size, and the alignment that new promises.
constexpr size_t kHeader = alignof(std::max_align_t);

size_t live_bytes = 0;
size_t peak_bytes = 0;
size_t allocations = 0;
size_t largest_block = 0;

}  // namespace

// All forms that end in one another by default: a sanitizer's do not.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  auto* block = static_cast<char*>(std::malloc(kHeader + size));
  if (block == nullptr) return nullptr;
  *reinterpret_cast<size_t*>(block) = size;
  live_bytes += size;
  peak_bytes = std::max(peak_bytes, live_bytes);
  largest_block = std::max(largest_block, size);
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
  if (pointer == nullptr) return;
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
  peak_bytes = live_bytes;
  largest_block = 0;
}

size_t Allocations() { return allocations; }
size_t LargestBlock() { return largest_block; }

}  // namespace deltabloom::test
