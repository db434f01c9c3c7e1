// Allocations by operator new that fail on request; in programs linked with
// --wrap=calloc those by calloc too.
#ifndef DELTABLOOM_TESTS_UTIL_FAILING_NEW_H_
#define DELTABLOOM_TESTS_UTIL_FAILING_NEW_H_

namespace deltabloom::test {

// Lets allocation `number` from now on, the first being 0, fail, once; the ones
// before and after it succeed. A negative number lets none fail.
void FailAllocation(long number);

// Whether it has come to that one.
bool AllocationFailed();

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_UTIL_FAILING_NEW_H_
