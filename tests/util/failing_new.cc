#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/util/replaced_new.h"

namespace {

long allocations_left = -1;
bool failed = false;

bool FailsNow() {
  if (allocations_left < 0 || allocations_left-- != 0) return false;
  failed = true;
  return true;
}

}  // namespace

// In programs linked with --wrap=calloc.
extern "C" void* __real_calloc(size_t n, size_t size) __attribute__((weak));
extern "C" void* __wrap_calloc(size_t n, size_t size);
void* __wrap_calloc(size_t n, size_t size) {
  return FailsNow() ? nullptr : __real_calloc(n, size);
}

// All forms that end in one another by default: a sanitizer's do not.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return FailsNow() ? nullptr : std::malloc(size);
}

void* operator new(size_t size) {
  void* const memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new[](size_t size) { return operator new(size); }

void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return operator new(size, std::nothrow);
}

void operator delete(void* memory) noexcept { std::free(memory); }

void operator delete(void* memory, size_t) noexcept { std::free(memory); }

void operator delete[](void* memory) noexcept { std::free(memory); }

void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace deltabloom::test {

void FailAllocation(long number) {
  allocations_left = number;
  failed = false;
}

bool AllocationFailed() { return failed; }

}  // namespace deltabloom::test
