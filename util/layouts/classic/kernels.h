// The functions of the layout classic that exist once per set of instructions.
// All of them write and read the same bytes.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_KERNELS_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_KERNELS_H_

#include "util/kernels.h"
#include "util/layouts/classic/shape.h"

namespace deltabloom::internal::classic {

// Payloads of more bytes are not expected in the nearer caches: lines are
// fetched ahead of their use.
inline constexpr uint64_t kPrefetchLookupsAbove = uint64_t{384} << 10;
inline constexpr uint64_t kPrefetchBuildAbove = uint64_t{384} << 10;

struct Kernels {
  Lookup lookup[kMaxProbes + 1];  // by the number of probes

  // Sets the bits of hashes[0 .. n).
  void (*set_bits)(const uint32_t* hashes, size_t n, const Shape& shape,
                   unsigned char* payload);
};

// The best that `cpu` runs.
const Kernels& KernelsOf(Hash hash, Cpu cpu);

const Kernels& PortableMurmurHash2();
const Kernels& PortableLevelDBHash();
#if defined(__x86_64__)
const Kernels& Avx2MurmurHash2();
const Kernels& Avx2LevelDBHash();
#endif

// May-match by the hash of a key, for callers that have hashes but are in no
// hurry; portable.
bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash);

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_KERNELS_H_
