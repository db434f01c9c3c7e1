// compact: a bumped ribbon filter (docs/format.md, chapter "Compact").
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_ROW_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_ROW_H_

#include "util/layouts/layout.h"

namespace deltabloom::internal::compact {

extern const LayoutRow kRow;

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_ROW_H_
