// The kernels of local for any machine.
#include "util/coding.h"
#include "util/layouts/local/local.h"

#define DELTABLOOM_TARGET

namespace deltabloom::internal::local {
namespace {

// A round of probes in a block, for any machine.
class Rounds {
 public:
  // Are its bits set? A branch per probe would be mispredicted, as half of the
  // bits are set; so there is one after the first four. Not inlined: gcc 12
  // makes slower code of that.
  __attribute__((noinline)) static bool Test(const unsigned char* block,
                                             uint64_t hash, uint32_t round,
                                             uint32_t probes) {
    const uint32_t few = std::min(probes, 4u);
    return TestSome(block, hash, round, 0, few) &&
           (few == probes || TestSome(block, hash, round, few, probes));
  }

  static void Set(unsigned char* block, uint64_t hash, uint32_t round,
                  uint32_t probes) {
    for (uint32_t probe = 0; probe < probes; ++probe) {
      const uint32_t bit = BitOf(hash, round, SectorOf(hash, probe));
      block[bit / 8] =
          static_cast<unsigned char>(block[bit / 8] | 1u << (bit % 8));
    }
  }

 private:
  static bool TestSome(const unsigned char* block, uint64_t hash,
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
};

}  // namespace
}  // namespace deltabloom::internal::local

// The kernels over Rounds.
#include "util/layouts/local/kernels-inl.h"

namespace deltabloom::internal::local {

bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  return parsed.shape.As<Shape>().second == 0 ? TestHash<1>(parsed, hash)
                                              : TestHash<2>(parsed, hash);
}

const Kernels& Portable() { return kKernels; }

}  // namespace deltabloom::internal::local
