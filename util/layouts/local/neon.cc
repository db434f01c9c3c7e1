// The kernels of local for NEON: a round of probes in two vectors of four
// lanes. The compiler's own vectors, which become the instructions that
// intrinsics name.
#include <cstdint>
#include <cstring>

#include "util/layouts/local/local.h"

#if defined(DELTABLOOM_HAS_NEON)

#define DELTABLOOM_TARGET
#define DELTABLOOM_KERNELS Neon

namespace deltabloom::internal::local {
namespace {

constexpr size_t kLanes = 4;
using Lanes __attribute__((vector_size(4 * kLanes))) = uint32_t;
using SignedLanes __attribute__((vector_size(4 * kLanes))) = int32_t;
using Halves __attribute__((vector_size(4 * kLanes))) = uint64_t;

inline Lanes Load(const void* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

inline void Store(Lanes lanes, void* to) {
  std::memcpy(to, &lanes, sizeof(lanes));
}

// The bits of one key in lanes `at` to at + 3 of a round, one for each sector
// that is taken: a bit of word i, or of word i + 8 where `upper` is all ones.
inline Lanes BitsOf(uint64_t hash, size_t round, uint32_t probes, size_t at,
                    Lanes* upper) {
  const Lanes products =
      Load(kMultipliers + round * kSectors + at) * static_cast<uint32_t>(hash);
  *upper = reinterpret_cast<Lanes>(
      reinterpret_cast<SignedLanes>(products << 5) >> 31);
  const Lanes ones = Load(&kSectorMasks.row[probes][FirstSector(hash)] + at);
  return ones << (products >> 27);
}

struct Rounds {
  static inline bool Test(const unsigned char* block, uint64_t hash,
                          size_t round, uint32_t probes) {
    Lanes missing{};
    for (size_t at = 0; at < kSectors; at += kLanes) {
      Lanes upper;
      const Lanes bits = BitsOf(hash, round, probes, at, &upper);
      const Lanes chosen = (Load(block + 4 * at) & ~upper) |
                           (Load(block + 4 * (at + kSectors)) & upper);
      missing |= bits & ~chosen;
    }
    const auto halves = reinterpret_cast<Halves>(missing);
    return (halves[0] | halves[1]) == 0;
  }

  static inline void Set(unsigned char* block, uint64_t hash, size_t round,
                         uint32_t probes) {
    for (size_t at = 0; at < kSectors; at += kLanes) {
      Lanes upper;
      const Lanes bits = BitsOf(hash, round, probes, at, &upper);
      unsigned char* const low = block + 4 * at;
      unsigned char* const high = block + 4 * (at + kSectors);
      Store(Load(low) | (bits & ~upper), low);
      Store(Load(high) | (bits & upper), high);
    }
  }
};

}  // namespace
}  // namespace deltabloom::internal::local

#include "util/layouts/local/kernels-inl.h"

#endif  // defined(DELTABLOOM_HAS_NEON)
