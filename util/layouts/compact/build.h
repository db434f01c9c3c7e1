// Construction of compact filters: hashes in, payload out.
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_BUILD_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_BUILD_H_

#include "util/layouts/compact/shape.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal::compact {

// For the row, which says what it does.
bool Build(HashList* hashes, bool keep_hashes, const Plan& plan, Cpu cpu,
           unsigned char* payload);

// Fills a payload of this shape, in which the seed is chosen. The payload comes
// in zeroed. False if no seed works: the hashes are then all there, in another
// order. With keep_hashes false the list is emptied on the way.
bool BuildShape(HashList* hashes, bool keep_hashes, Shape shape, Cpu cpu,
                unsigned char* payload);

// Sets what BuildShape allocates for plan->keys keys.
void SetBuildBytes(const Shape& shape, Plan* plan);

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_BUILD_H_
