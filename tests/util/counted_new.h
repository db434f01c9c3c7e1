// The memory that operator new has given out in a test program.
#ifndef DELTABLOOM_TESTS_UTIL_COUNTED_NEW_H_
#define DELTABLOOM_TESTS_UTIL_COUNTED_NEW_H_

#include <cstddef>

namespace deltabloom::test {

size_t LiveBytes();

// The most at a time since the last call of ResetPeak.
size_t PeakBytes();
void ResetPeak();

// Calls of operator new so far, and the largest block since ResetPeak.
size_t Allocations();
size_t LargestBlock();

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_UTIL_COUNTED_NEW_H_
