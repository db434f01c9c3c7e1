// The functions of the classic layout that exist once per CPU level. All of
// them write and read the same bytes.
#ifndef DELTABLOOM_UTIL_CLASSIC_KERNELS_H_
#define DELTABLOOM_UTIL_CLASSIC_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/classic_modulo.h"

namespace deltabloom::internal {

inline constexpr uint32_t kMaxClassicProbes = 30;

// Where parse() leaves what a classic kernel needs, in ParsedFilter::geometry.
enum ClassicGeometry : unsigned {
  kClassicBits,
  kClassicProbes,
  kClassicDivisor,  // the two fields of Modulo
  kClassicInverse,
};

inline Modulo ClassicModulo(const ParsedFilter& parsed) {
  return {parsed.geometry[kClassicDivisor], parsed.geometry[kClassicInverse]};
}

// What is added to a hash from one probe to the next.
inline uint32_t ClassicDelta(uint32_t hash) { return hash >> 17 | hash << 15; }

struct ClassicKernels {
  using MayMatch = bool (*)(const ParsedFilter&, std::string_view);
  using MayMatchMany = void (*)(const ParsedFilter&, KeyRefs, size_t, bool*);

  // By the number of probes.
  MayMatch may_match[kMaxClassicProbes + 1];
  MayMatchMany may_match_many[kMaxClassicProbes + 1];

  // Sets the bits of hashes[0 .. n) in the payload of modulo.divisor bits or
  // more.
  void (*set_bits)(const uint32_t* hashes, size_t n, const Modulo& modulo,
                   uint32_t probes, unsigned char* payload);
};

const ClassicKernels& ClassicPortable(Hash hash);
#if defined(__x86_64__)
const ClassicKernels& ClassicAvx2(Hash hash);
const ClassicKernels& ClassicAvx512(Hash hash);
#endif

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_CLASSIC_KERNELS_H_
