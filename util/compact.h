// compact: a bumped ribbon filter (docs/format.md, chapter "Compact").
#ifndef DELTABLOOM_UTIL_COMPACT_H_
#define DELTABLOOM_UTIL_COMPACT_H_

#include "util/layout.h"

namespace deltabloom::internal {

extern const LayoutRow kCompact;

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_H_
