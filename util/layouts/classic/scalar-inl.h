// The classic kernels one key at a time, compiled once per set of
// instructions.
//
// The including file defines DELTABLOOM_TARGET, the function attribute of its
// instructions. No lambdas: they would not inherit it.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SCALAR_INL_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SCALAR_INL_H_

#include <algorithm>

#include "util/key_batch.h"
#include "util/layouts/classic/kernels.h"

namespace deltabloom::internal::classic {
namespace {

using KeyHash = uint32_t (*)(const char* data, size_t size, uint32_t seed);

// Probes tested before the first branch. A probe of an absent key finds its
// bit set about every second time, so that three leave one key in eight; a
// branch per probe would be mispredicted far more often.
constexpr uint32_t kFirstProbes = 3;

// The same for the keys of a batch, where no branch waits for a hash.
constexpr uint32_t kFirstProbesOfBatch = 2;

// In the lowest bit; the others are any.
DELTABLOOM_TARGET inline uint32_t Bit(const unsigned char* payload,
                                      uint32_t position) {
  return uint32_t{payload[position / 8]} >> (position % 8);
}

// Whether the bits of probes from .. to - 1 are all set.
DELTABLOOM_TARGET inline bool TestRange(const ParsedFilter& parsed,
                                        uint32_t hash, uint32_t from,
                                        uint32_t to) {
  const Modulo modulo = parsed.shape.As<Shape>().modulo;
  const uint32_t delta = Delta(hash);
  uint32_t bits = 1;
  for (uint32_t i = from; i < to; ++i) {
    bits &= Bit(parsed.payload, Remainder(hash + i * delta, modulo));
  }
  return bits != 0;
}

// kProbes = 0: as many as the filter says.
template <uint32_t kProbes>
DELTABLOOM_TARGET inline bool TestProbes(const ParsedFilter& parsed,
                                         uint32_t hash) {
  const uint32_t probes =
      kProbes > 0 ? kProbes : parsed.shape.As<Shape>().probes;
  const uint32_t first = std::min(probes, kFirstProbes);
  return TestRange(parsed, hash, 0, first) &&
         TestRange(parsed, hash, first, probes);
}

template <KeyHash kHash, uint32_t kProbes>
DELTABLOOM_TARGET bool MayMatchOne(const ParsedFilter& parsed,
                                   std::string_view key) {
  return TestProbes<kProbes>(parsed,
                             kHash(key.data(), key.size(), kBloomHashSeed));
}

DELTABLOOM_TARGET inline void SetBitsOfOne(uint32_t hash, const Shape& shape,
                                           unsigned char* payload) {
  const Modulo modulo = shape.modulo;
  const uint32_t probes = shape.probes;
  const uint32_t delta = Delta(hash);
  for (uint32_t i = 0; i < probes; ++i) {
    const uint32_t position = Remainder(hash, modulo);
    payload[position / 8] = static_cast<unsigned char>(payload[position / 8] |
                                                       1u << (position % 8));
    hash += delta;
  }
}

// Functions are compiled for these numbers of probes (up to 24 bits per key);
// beyond, one function (0) serves them all.
constexpr uint32_t Specialised(uint32_t probes) {
  return probes <= 16 ? probes : 0;
}

}  // namespace
}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SCALAR_INL_H_
