// Construction of local filters: hashes in, payload out.
#ifndef DELTABLOOM_UTIL_LAYOUTS_LOCAL_BUILD_H_
#define DELTABLOOM_UTIL_LAYOUTS_LOCAL_BUILD_H_

#include "util/layouts/layout.h"

namespace deltabloom::internal::local {

// For the row, which says what it does.
bool Build(HashList* hashes, bool keep_hashes, const Plan& plan, Cpu cpu,
           unsigned char* payload);

}  // namespace deltabloom::internal::local

#endif  // DELTABLOOM_UTIL_LAYOUTS_LOCAL_BUILD_H_
