// local: a blocked Bloom filter, all bits of a key in one or two 64-byte
// blocks, spread over sectors (docs/format.md, chapter "Local").
#ifndef DELTABLOOM_UTIL_LAYOUTS_LOCAL_ROW_H_
#define DELTABLOOM_UTIL_LAYOUTS_LOCAL_ROW_H_

#include "util/layouts/layout.h"

namespace deltabloom::internal::local {

extern const LayoutRow kRow;

}  // namespace deltabloom::internal::local

#endif  // DELTABLOOM_UTIL_LAYOUTS_LOCAL_ROW_H_
