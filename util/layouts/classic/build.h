// Construction of classic filters: hashes in, payload out.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_BUILD_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_BUILD_H_

#include "util/layouts/layout.h"

namespace deltabloom::internal::classic {

// For the rows, which say what it does.
bool Build(HashList* hashes, bool keep_hashes, const Plan& plan, Cpu cpu,
           unsigned char* payload);

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_BUILD_H_
