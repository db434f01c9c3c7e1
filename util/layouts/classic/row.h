// classic: LevelDB's Bloom filter (docs/format.md, chapter "Classic").
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_ROW_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_ROW_H_

#include "util/layouts/layout.h"

namespace deltabloom::internal::classic {

extern const LayoutRow kMurmurHash2Row;
extern const LayoutRow kLevelDBHashRow;

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_ROW_H_
