// The kernels of local for AVX2: a round of probes in a vector of eight lanes.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#include "util/key_batch.h"
#include "util/layouts/local/local.h"

// No lambdas below: they would not inherit the attribute.

namespace deltabloom::internal::local {
namespace {

// Where the bits of one key are: in lane i, bit number `bit` of word i, or of
// word i + 8 where the sign bit of `upper` is set.
struct Probes {
  __m256i bit;
  __m256i upper;
};

DELTABLOOM_TARGET_AVX2 inline Probes MakeProbes(uint64_t hash, size_t round) {
  const auto* multipliers =
      reinterpret_cast<const __m256i*>(kMultipliers + round * kSectors);
  const __m256i products =
      _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(hash)),
                         _mm256_load_si256(multipliers));
  return {_mm256_srli_epi32(products, 27), _mm256_slli_epi32(products, 5)};
}

// One bit for each sector that is taken.
DELTABLOOM_TARGET_AVX2 inline __m256i Bits(const Probes& probes,
                                           const uint32_t* masks) {
  const __m256i ones =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(masks));
  return _mm256_sllv_epi32(ones, probes.bit);
}

DELTABLOOM_TARGET_AVX2 inline bool AllSet(const unsigned char* block,
                                          __m256i bits, __m256i upper) {
  const auto* words = reinterpret_cast<const __m256i*>(block);
  const __m256 chosen =
      _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_loadu_si256(words)),
                       _mm256_castsi256_ps(_mm256_loadu_si256(words + 1)),
                       _mm256_castsi256_ps(upper));
  return _mm256_testc_si256(_mm256_castps_si256(chosen), bits) != 0;
}

// Are the bits of a round set in `block`?
DELTABLOOM_TARGET_AVX2 inline bool TestRound(const unsigned char* block,
                                             uint64_t hash, size_t round,
                                             uint32_t probes) {
  const Probes positions = MakeProbes(hash, round);
  return AllSet(block, Bits(positions, MasksOf(hash, probes)), positions.upper);
}

// Sets the bits of a round in `block`.
DELTABLOOM_TARGET_AVX2 inline void SetRound(unsigned char* block, uint64_t hash,
                                            size_t round, uint32_t probes) {
  const Probes positions = MakeProbes(hash, round);
  const __m256i bits = Bits(positions, MasksOf(hash, probes));
  const __m256i upper = _mm256_srai_epi32(positions.upper, 31);
  auto* words = reinterpret_cast<__m256i*>(block);
  _mm256_storeu_si256(words, _mm256_or_si256(_mm256_loadu_si256(words),
                                             _mm256_andnot_si256(upper, bits)));
  _mm256_storeu_si256(words + 1,
                      _mm256_or_si256(_mm256_loadu_si256(words + 1),
                                      _mm256_and_si256(upper, bits)));
}

// Blocks fetched ahead while bits are set.
constexpr size_t kWindow = 16;

DELTABLOOM_TARGET_AVX2 inline const unsigned char* Block(
    const ParsedFilter& parsed, uint64_t hash) {
  return parsed.payload +
         BlockOf(hash, parsed.shape.As<Shape>().blocks) * kBlockSize;
}

// `block` is the first of the key with this hash.
template <size_t kRounds>
DELTABLOOM_TARGET_AVX2 inline bool Test(const ParsedFilter& parsed,
                                        const unsigned char* block,
                                        uint64_t hash) {
  const Shape& shape = parsed.shape.As<Shape>();
  const bool first = TestRound(block, hash, 0, shape.first);
  if (kRounds == 1 || !first) return first;
  const unsigned char* next = block + kBlockSize;
  if (next == parsed.payload + parsed.payload_size) next = parsed.payload;
  return TestRound(next, hash, 1, shape.second);
}

DELTABLOOM_TARGET_AVX2 inline uint64_t RareHash(std::string_view key) {
  return key.size() > 32 ? Hash64Long(key.data(), key.size())
                         : Hash64AnySize(key.data(), key.size());
}

template <size_t kRounds>
DELTABLOOM_TARGET_AVX2 inline bool TestHash(const ParsedFilter& parsed,
                                            uint64_t hash) {
  return Test<kRounds>(parsed, Block(parsed, hash), hash);
}

// Apart from each other, so that shorter keys need no room for the registers
// of longer ones.
template <size_t kRounds>
DELTABLOOM_TARGET_AVX2 __attribute__((noinline)) bool MayMatchRare(
    const ParsedFilter& parsed, std::string_view key) {
  return TestHash<kRounds>(parsed, RareHash(key));
}

template <size_t kRounds>
DELTABLOOM_TARGET_AVX2 __attribute__((noinline)) bool MayMatchMedium(
    const ParsedFilter& parsed, std::string_view key) {
  if (!IsHash64Medium(key.size())) return MayMatchRare<kRounds>(parsed, key);
  return TestHash<kRounds>(parsed, Hash64Medium(key.data(), key.size()));
}

template <size_t kRounds>
DELTABLOOM_TARGET_AVX2 bool MayMatch(const ParsedFilter& parsed,
                                     std::string_view key) {
  if (!IsHash64Short(key.size())) return MayMatchMedium<kRounds>(parsed, key);
  return TestHash<kRounds>(parsed, Hash64Short(key.data(), key.size()));
}

DELTABLOOM_TARGET_AVX2 __attribute__((noinline)) uint64_t RareHashApart(
    std::string_view key) {
  return RareHash(key);
}

DELTABLOOM_TARGET_AVX2 inline uint64_t HashOf(std::string_view key) {
  if (IsHash64Short(key.size())) return Hash64Short(key.data(), key.size());
  if (IsHash64Medium(key.size())) return Hash64Medium(key.data(), key.size());
  return RareHashApart(key);
}

template <size_t kRounds>
DELTABLOOM_TARGET_AVX2 void MayMatchMany(const ParsedFilter& parsed,
                                         KeyBatch keys, size_t n,
                                         bool* may_match) {
  if (parsed.payload_size <= kPrefetchLookupsAbove) {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t hash = HashOf(keys[i]);
      may_match[i] = Test<kRounds>(parsed, Block(parsed, hash), hash);
    }
    return;
  }
  uint64_t hashes[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      hashes[i] = HashOf(keys[begin + i]);
      const unsigned char* block = Block(parsed, hashes[i]);
      __builtin_prefetch(block);
      __builtin_prefetch(block + kBlockSize - 1);
    }
    // Where a block is takes less time to compute again than to keep.
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] =
          Test<kRounds>(parsed, Block(parsed, hashes[i]), hashes[i]);
    }
  }
}

template <size_t kRounds, bool kFetch>
DELTABLOOM_TARGET_AVX2 void SetBitsOf(const uint64_t* hashes, size_t n,
                                      const Shape& shape,
                                      unsigned char* payload) {
  const Shape local = shape;
  for (size_t i = 0; i < n; ++i) {
    if (kFetch && n - i > kWindow) {
      const unsigned char* ahead =
          payload + BlockOf(hashes[i + kWindow], local.blocks) * kBlockSize;
      __builtin_prefetch(ahead, 1);
      __builtin_prefetch(ahead + kRounds * kBlockSize - 1, 1);
    }
    const uint64_t block = BlockOf(hashes[i], local.blocks);
    SetRound(payload + block * kBlockSize, hashes[i], 0, local.first);
    if (kRounds == 2) {
      const uint64_t next = NextBlock(block, local.blocks);
      SetRound(payload + next * kBlockSize, hashes[i], 1, local.second);
    }
  }
}

DELTABLOOM_TARGET_AVX2 void SetBits(const uint64_t* hashes, size_t n,
                                    const Shape& shape,
                                    unsigned char* payload) {
  const bool fetch = shape.blocks * kBlockSize > kPrefetchBuildAbove;
  if (shape.second == 0) {
    if (fetch) return SetBitsOf<1, true>(hashes, n, shape, payload);
    return SetBitsOf<1, false>(hashes, n, shape, payload);
  }
  if (fetch) return SetBitsOf<2, true>(hashes, n, shape, payload);
  return SetBitsOf<2, false>(hashes, n, shape, payload);
}

constexpr Kernels kKernels = {
    {{MayMatch<1>, MayMatchMany<1>}, {MayMatch<2>, MayMatchMany<2>}}, SetBits};

}  // namespace

const Kernels& Avx2() { return kKernels; }

}  // namespace deltabloom::internal::local

#endif  // defined(__x86_64__)
