// Included ahead of all else when built for MemorySanitizer: the units
// instantiate strings and streams themselves, instead of taking them from
// libstdc++, which is not instrumented. (Its headers set this macro themselves,
// so that -D does not.)
#ifndef DELTABLOOM_TESTS_PORTABILITY_INSTANTIATE_H_
#define DELTABLOOM_TESTS_PORTABILITY_INSTANTIATE_H_

#include <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0

#endif  // DELTABLOOM_TESTS_PORTABILITY_INSTANTIATE_H_
