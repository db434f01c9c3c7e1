// classic: LevelDB's Bloom filter (docs/format.md, chapter "classic").
#ifndef DELTABLOOM_UTIL_CLASSIC_H_
#define DELTABLOOM_UTIL_CLASSIC_H_

#include "util/layout.h"

namespace deltabloom::internal {

extern const LayoutRow kClassicMurmurHash2;
extern const LayoutRow kClassicLevelDBHash;

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_CLASSIC_H_
