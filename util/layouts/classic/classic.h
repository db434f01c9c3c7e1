// The layout classic: LevelDB's Bloom filter (docs/format.md, chapter
// "Classic").
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "util/hash.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal::classic {

extern const LayoutRow kMurmurHash2Row;
extern const LayoutRow kLevelDBHashRow;

// --- Remainders ------------------------------------------------------------
//
// h mod d without a division, for a divisor fixed beforehand. Both ways are
// exact for every 32-bit h and every d from 1 upwards; d >= 2^32 counts as
// 2^32.
//
// Wide (Lemire, Kaser, Kurz 2019): with M = ceil(2^64 / d), the low 64 bits of
// M * h are the fraction of h / d in units of 2^-64, rounded up by less than
// 2^32 units. Times d, that is the remainder plus less than one.
//
// Narrow, for vectors: with R = 2^32 / d less an e in (0, 1], the quotient
// q = (h * R) >> 32 is at most 1 too low, so r = h - q * d is in [0, 2d), and
// r - d, wrapped at 2^32, is below r if and only if d <= r.
inline uint32_t NarrowRemainder(uint32_t h, uint32_t divisor,
                                uint32_t inverse) {
  const auto q = static_cast<uint32_t>(uint64_t{h} * inverse >> 32);
  const uint32_t r = h - q * divisor;
  return std::min(r, r - divisor);
}

struct Modulo {
  uint64_t divisor;  // at most 2^32
  uint64_t inverse;  // M

  uint32_t narrow_divisor() const { return static_cast<uint32_t>(divisor); }
  uint32_t narrow_inverse() const {
    return static_cast<uint32_t>((inverse - 1) >> 32);
  }

  // The wide way where the machine multiplies 64-bit numbers.
  uint32_t operator()(uint32_t h) const {
#if defined(__SIZEOF_INT128__)
    const uint64_t fraction = inverse * h;
    return static_cast<uint32_t>(
        static_cast<unsigned __int128>(fraction) * divisor >> 64);
#else
    return NarrowRemainder(h, narrow_divisor(), narrow_inverse());
#endif
  }
};

// For d = 1, M = 2^64 wraps to 0, which gives the remainder 0, too.
inline Modulo MakeModulo(uint64_t divisor) {
  const uint64_t d = std::min(divisor, uint64_t{1} << 32);
  return {d, ~uint64_t{0} / d + 1};
}

// For divisors from 1 to 2^32 - 1 and filters used once: takes a division of 32
// bits to make, where one of 64 takes longer than the lookup.
class Modulo32 {
 public:
  explicit Modulo32(uint32_t divisor)
      : divisor_(divisor), inverse_(~uint32_t{0} / divisor) {}

  uint32_t operator()(uint32_t h) const {
    return NarrowRemainder(h, divisor_, inverse_);
  }

 private:
  const uint32_t divisor_;
  const uint32_t inverse_;
};

// --- What the bytes of a filter say ----------------------------------------

// The last byte of a filter is its number of probes, up to this.
inline constexpr uint32_t kMaxProbes = 30;

// The hash of a key, of which all its probes are made.
using KeyHash = uint32_t (*)(const char* data, size_t size, uint32_t seed);

template <KeyHash kHash>
inline uint32_t HashOf(std::string_view key) {
  return kHash(key.data(), key.size(), kBloomHashSeed);
}

inline uint32_t HashKey(Hash hash, std::string_view key) {
  return hash == Hash::kLevelDB ? HashOf<LevelDBHash>(key)
                                : HashOf<MurmurHash2>(key);
}

// The step from the bit of one probe to the bit of the next: the hash rotated
// right by 17. Probe i is at bit (hash + i * delta) mod bits.
inline uint32_t Delta(uint32_t hash) { return hash >> 17 | hash << 15; }

struct Shape {
  Modulo modulo;  // by bits
  uint64_t bits;
  uint32_t probes;
};

inline Shape MakeShape(uint64_t payload_size, uint32_t probes) {
  // Sizes that can be planned, but not allocated, have more bits than a number.
  const uint64_t bits = std::min(payload_size, ~uint64_t{0} / 8) * 8;
  return {MakeModulo(bits), bits, probes};
}

// --- Sizes -----------------------------------------------------------------

// Makes the plan one of this size and number of probes, whatever the keys.
void SetSize(uint64_t payload_size, uint32_t probes, Plan* plan);

// Sizes at which probes do not fall on each other (docs/format.md, chapter
// Classic). Smaller payloads do not show the effect and are never adjusted.
inline constexpr uint64_t kSmallestAdjustedSize = uint64_t{32} << 10;

// Returns whether the probes of a key are spread well over a payload of this
// size. True for small payloads.
bool IsGoodSize(uint64_t bytes);

// The smallest good size from `bytes` on, at most 36 bytes away; grows with
// `bytes`. And the largest good size up to `bytes`.
uint64_t GoodSizeFrom(uint64_t bytes);
uint64_t GoodSizeUpTo(uint64_t bytes);

// --- Probes ----------------------------------------------------------------

// Larger payloads are fetched ahead of their use.
inline constexpr uint64_t kPrefetchLookupsAbove = uint64_t{384} << 10;
inline constexpr uint64_t kPrefetchBuildAbove = uint64_t{384} << 10;

// Probes tested before the first branch, which three set bits reach for one
// absent key in eight; and for the keys of a batch.
inline constexpr uint32_t kFirstProbes = 3;
inline constexpr uint32_t kFirstProbesOfBatch = 2;

// Functions are compiled for these numbers of probes (up to 24 bits per key);
// beyond, one function (0) serves them all.
constexpr uint32_t Specialised(uint32_t probes) {
  return probes <= 16 ? probes : 0;
}

// Always inlined: they are then compiled for the instructions of their caller.
#define DELTABLOOM_INLINE __attribute__((always_inline)) inline

// Returns whether the bits of probes from .. to - 1 are all set.
template <typename Remainder>
DELTABLOOM_INLINE bool TestRange(const unsigned char* payload,
                                 const Remainder& modulo, uint32_t hash,
                                 uint32_t from, uint32_t to) {
  const uint32_t delta = Delta(hash);
  hash += from * delta;
  uint32_t bits = 1;
#pragma GCC unroll 3
  for (uint32_t i = from; i < to; ++i, hash += delta) {
    const uint32_t position = modulo(hash);
    bits &= uint32_t{payload[position / 8]} >> (position % 8);
  }
  return bits != 0;
}

template <typename Remainder>
DELTABLOOM_INLINE bool TestProbes(const unsigned char* payload,
                                  const Remainder& modulo, uint32_t probes,
                                  uint32_t hash) {
  if (probes < kFirstProbes) return TestRange(payload, modulo, hash, 0, probes);
  return TestRange(payload, modulo, hash, 0, kFirstProbes) &&
         TestRange(payload, modulo, hash, kFirstProbes, probes);
}

// kProbes = 0: as many as the filter says.
template <uint32_t kProbes>
DELTABLOOM_INLINE bool TestHash(const ParsedFilter& parsed, uint32_t hash) {
  const Shape& shape = parsed.shape.As<Shape>();
  const Modulo modulo = shape.modulo;
  return TestProbes(parsed.payload, modulo,
                    kProbes > 0 ? kProbes : shape.probes, hash);
}

#undef DELTABLOOM_INLINE

using AllProbes = std::make_integer_sequence<uint32_t, kMaxProbes + 1>;

// The functions that exist once per set of instructions.
struct Kernels {
  Lookup lookup[kMaxProbes + 1];  // by the number of probes

  void (*set_bits)(const uint32_t* hashes, size_t n, const Shape& shape,
                   unsigned char* payload);
};

const Kernels& Portable(Hash hash);
#if defined(__x86_64__)
const Kernels& Avx2(Hash hash);
#endif

// set_bits of the portable kernels.
void SetBitsPortable(const uint32_t* hashes, size_t n, const Shape& shape,
                     unsigned char* payload);

// --- Rates (rate.cc) -------------------------------------------------------

// Numbers of keys and of probes for which the rate was measured, ascending.
inline constexpr uint64_t kMeasuredKeys[] = {
    1, 10, 100, 1000, 10000, 30000, 100000, 300000, 1000000};
inline constexpr uint32_t kMeasuredProbes[] = {2,  3,  4,  5,  6,  7,  8, 9,
                                               10, 11, 12, 14, 17, 22, 30};

// The rate if the probes were independent. Each key shares its hash with a
// given other key with probability 2^-32.
double RateWithoutExcess(const AnyShape& shape, uint64_t keys);

double Rate(const AnyShape& shape, uint64_t keys);
ContentEstimate EstimateContent(const ParsedFilter& parsed);

}  // namespace deltabloom::internal::classic
