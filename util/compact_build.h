// Construction of compact filters: hashes in, payload out.
#ifndef DELTABLOOM_UTIL_COMPACT_BUILD_H_
#define DELTABLOOM_UTIL_COMPACT_BUILD_H_

#include <cstdint>

#include "util/compact_geometry.h"
#include "util/cpu_level.h"
#include "util/hash_list.h"
#include "util/layout.h"

namespace deltabloom::internal {

// Fills a payload of MakeCompactGeometry(sizes, payload_size); the seed is
// chosen here. The payload comes in zeroed. False if no seed works: the hashes
// are then all there, in another order. With keep_hashes false the list is
// emptied on the way.
bool BuildCompact(HashList* hashes, bool keep_hashes, CompactSizes sizes,
                  uint64_t payload_size, CpuLevel level,
                  unsigned char* payload);

// Sets what BuildCompact allocates for plan->keys keys.
void SetCompactBuildBytes(const CompactGeometry& geometry, Plan* plan);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_BUILD_H_
