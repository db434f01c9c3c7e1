// The kernels of local for any machine.
#include <algorithm>

#include "util/coding.h"
#include "util/layouts/local/local.h"

#define DELTABLOOM_TARGET

namespace deltabloom::internal::local {
namespace {

// Probes tested before the first branch.
constexpr uint32_t kFirstProbes = 4;

// Are the bits of probes begin .. end - 1 set? Without a branch between them.
inline bool TestProbes(const unsigned char* block, uint64_t hash,
                       uint32_t round, uint32_t begin, uint32_t end) {
  uint32_t all = 1;
  for (uint32_t probe = begin; probe < end; ++probe) {
    const uint32_t sector = SectorOf(hash, probe);
    const uint32_t product = ProductOf(hash, round, sector);
    const uint32_t upper = (product >> 26) % 2 * (kBlockSize / 2);
    all &= LoadFixed32(block + 4 * sector + upper) >> (product >> 27);
  }
  return all != 0;
}

// A branch per probe would be mispredicted: half of the bits are set.
inline bool TestRound(const unsigned char* block, uint64_t hash, uint32_t round,
                      uint32_t probes) {
  const uint32_t few = std::min(probes, kFirstProbes);
  return TestProbes(block, hash, round, 0, few) &&
         (few == probes || TestProbes(block, hash, round, few, probes));
}

inline void SetRound(unsigned char* block, uint64_t hash, uint32_t round,
                     uint32_t probes) {
  for (uint32_t probe = 0; probe < probes; ++probe) {
    const uint32_t bit = BitOf(hash, round, SectorOf(hash, probe));
    block[bit / 8] =
        static_cast<unsigned char>(block[bit / 8] | 1u << (bit % 8));
  }
}

}  // namespace
}  // namespace deltabloom::internal::local

// The kernels over TestRound and SetRound.
#include "util/layouts/local/kernels-inl.h"

namespace deltabloom::internal::local {

bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  return parsed.shape.As<Shape>().second == 0 ? TestHash<1>(parsed, hash)
                                              : TestHash<2>(parsed, hash);
}

const Kernels& Portable() { return kKernels; }

}  // namespace deltabloom::internal::local
