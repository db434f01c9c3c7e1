// The functions of the layout local that exist once per set of instructions.
// All of them write and read the same bytes.
#ifndef DELTABLOOM_UTIL_LAYOUTS_LOCAL_KERNELS_H_
#define DELTABLOOM_UTIL_LAYOUTS_LOCAL_KERNELS_H_

#include "util/kernels.h"
#include "util/layouts/local/shape.h"

namespace deltabloom::internal::local {

// Payloads of more bytes are not expected in the nearer caches: lines are
// fetched ahead of their use. Of smaller ones the CPU overlaps as many lookups
// as matter there.
inline constexpr uint64_t kPrefetchLookupsAbove = uint64_t{64} << 10;
inline constexpr uint64_t kPrefetchBuildAbove = uint64_t{256} << 10;

struct Kernels {
  Lookup lookup[2];  // by the number of rounds, less one

  // Sets the bits of hashes[0 .. n).
  void (*set_bits)(const uint64_t* hashes, size_t n, const Shape& shape,
                   unsigned char* payload);
};

// The best that `cpu` runs.
const Kernels& KernelsOf(Cpu cpu);

const Kernels& Portable();
#if defined(__x86_64__)
const Kernels& Avx2();
#endif

// May-match by the hash of a key, for callers that have hashes but are in no
// hurry; portable.
bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash);

}  // namespace deltabloom::internal::local

#endif  // DELTABLOOM_UTIL_LAYOUTS_LOCAL_KERNELS_H_
