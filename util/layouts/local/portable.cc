// The kernels of local for any machine.
#include <cstdint>

#include "util/layouts/local/local.h"

#define DELTABLOOM_TARGET
#define DELTABLOOM_KERNELS Portable

namespace deltabloom::internal::local {
using Rounds = PortableRounds;
}  // namespace deltabloom::internal::local

#include "util/layouts/local/kernels-inl.h"

namespace deltabloom::internal::local {

bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  return parsed.shape.As<Shape>().second == 0 ? TestHash<1>(parsed, hash)
                                              : TestHash<2>(parsed, hash);
}

}  // namespace deltabloom::internal::local
