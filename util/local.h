// local: a Bloom filter with all bits of a key in one 64-byte block
// (docs/format.md, chapter "local").
#ifndef DELTABLOOM_UTIL_LOCAL_H_
#define DELTABLOOM_UTIL_LOCAL_H_

#include "util/layout.h"

namespace deltabloom::internal {

extern const LayoutRow kLocal;

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_LOCAL_H_
