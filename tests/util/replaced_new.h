// Test programs that link replaced_new.cc replace operator new: it counts the
// memory, and allocations fail on request. Linked with --wrap=calloc, those by
// calloc fail too, and none are counted.
#pragma once

#include <cstddef>

namespace deltabloom::test {

size_t LiveBytes();

// The most at a time since the last call of ResetPeak.
size_t PeakBytes();
void ResetPeak();

// Calls of operator new so far, and the largest block since ResetPeak.
size_t Allocations();
size_t LargestBlock();

// Lets allocation `number` from now on, the first being 0, fail. The ones
// before it succeed, and so do those after it, unless `and_later_ones`. A
// negative number lets none fail.
void FailAllocation(long number, bool and_later_ones = false);

// Returns whether that allocation was reached.
bool AllocationFailed();

}  // namespace deltabloom::test
