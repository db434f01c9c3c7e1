// The functions of the layout compact that exist once per set of instructions.
// All of them give the same answers.
#ifndef DELTABLOOM_UTIL_LAYOUTS_COMPACT_KERNELS_H_
#define DELTABLOOM_UTIL_LAYOUTS_COMPACT_KERNELS_H_

#include "util/kernels.h"
#include "util/layouts/compact/shape.h"

namespace deltabloom::internal::compact {

// Payloads of more bytes are not expected in the nearer caches: lines are
// fetched ahead of their use.
inline constexpr uint64_t kPrefetchLookupsAbove = uint64_t{128} << 10;

struct Kernels {
  Lookup lookup[kMaxColumns];  // by the number of columns, less one
};

// The best that `cpu` runs.
const Kernels& KernelsOf(Cpu cpu);

const Kernels& Portable();
#if defined(__x86_64__)
const Kernels& Avx2();
const Kernels& Avx512();
#endif

// May-match by the hash of a key, for callers that have hashes but are in no
// hurry; portable.
bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash);

}  // namespace deltabloom::internal::compact

#endif  // DELTABLOOM_UTIL_LAYOUTS_COMPACT_KERNELS_H_
