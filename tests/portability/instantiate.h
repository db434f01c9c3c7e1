// Included ahead of all else when built for MemorySanitizer: the units
// instantiate strings and streams themselves, instead of taking them from
// libstdc++, which is not instrumented. (Its headers set this macro themselves,
// so that -D does not.)
#pragma once

#include <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0
