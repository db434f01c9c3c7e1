// The kernels of classic for AVX2: hashes, positions and bits of eight keys at
// a time.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "util/key_batch.h"
#include "util/layouts/classic/classic.h"

// No lambdas below: they would not inherit the attribute.

namespace deltabloom::internal::classic {
namespace {

constexpr size_t kLanes = 8;
using Lanes __attribute__((vector_size(4 * kLanes))) = uint32_t;

DELTABLOOM_TARGET_AVX2 inline __m256i Bytes(Lanes a) {
  return reinterpret_cast<__m256i>(a);
}
DELTABLOOM_TARGET_AVX2 inline Lanes FromBytes(__m256i a) {
  return reinterpret_cast<Lanes>(a);
}
DELTABLOOM_TARGET_AVX2 inline Lanes All(uint32_t value) {
  return FromBytes(_mm256_set1_epi32(static_cast<int>(value)));
}
DELTABLOOM_TARGET_AVX2 inline Lanes Load(const uint32_t* from) {
  return FromBytes(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
DELTABLOOM_TARGET_AVX2 inline void Store(uint32_t* to, Lanes a) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(to), Bytes(a));
}

// --- Hashes ----------------------------------------------------------------

struct VectorMurmurHash2 {
  static constexpr KeyHash kScalar = MurmurHash2;
  static constexpr uint32_t kMultiplier = 0x5bd1e995;

  static uint32_t Start(size_t size) {
    return kBloomHashSeed ^ static_cast<uint32_t>(size);
  }
  DELTABLOOM_TARGET_AVX2 static inline Lanes AddWord(Lanes h, Lanes word) {
    word *= kMultiplier;
    word ^= word >> 24;
    return (h * kMultiplier) ^ (word * kMultiplier);
  }
  DELTABLOOM_TARGET_AVX2 static inline Lanes AddTail(Lanes h, Lanes tail) {
    return (h ^ tail) * kMultiplier;
  }
  DELTABLOOM_TARGET_AVX2 static inline Lanes End(Lanes h) {
    h ^= h >> 13;
    h *= kMultiplier;
    return h ^ (h >> 15);
  }
};

struct VectorLevelDBHash {
  static constexpr KeyHash kScalar = LevelDBHash;
  static constexpr uint32_t kMultiplier = 0xc6a4a793;

  static uint32_t Start(size_t size) {
    return kBloomHashSeed ^ static_cast<uint32_t>(size) * kMultiplier;
  }
  DELTABLOOM_TARGET_AVX2 static inline Lanes AddWord(Lanes h, Lanes word) {
    h = (h + word) * kMultiplier;
    return h ^ (h >> 16);
  }
  DELTABLOOM_TARGET_AVX2 static inline Lanes AddTail(Lanes h, Lanes tail) {
    h = (h + tail) * kMultiplier;
    return h ^ (h >> 24);
  }
  DELTABLOOM_TARGET_AVX2 static inline Lanes End(Lanes h) { return h; }
};

// Sets words[i] to the i-th word of each key's 16 bytes.
DELTABLOOM_TARGET_AVX2 inline void LoadWords(const char* const* blocks,
                                             Lanes words[4]) {
  __m256i in[4];
  for (size_t i = 0; i < 4; ++i) {  // of keys i and i + 4, side by side
    in[i] = _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(blocks[i + 4]),
                                reinterpret_cast<const __m128i*>(blocks[i]));
  }
  const __m256i low01 = _mm256_unpacklo_epi32(in[0], in[1]);
  const __m256i low23 = _mm256_unpacklo_epi32(in[2], in[3]);
  const __m256i high01 = _mm256_unpackhi_epi32(in[0], in[1]);
  const __m256i high23 = _mm256_unpackhi_epi32(in[2], in[3]);
  words[0] = FromBytes(_mm256_unpacklo_epi64(low01, low23));
  words[1] = FromBytes(_mm256_unpackhi_epi64(low01, low23));
  words[2] = FromBytes(_mm256_unpacklo_epi64(high01, high23));
  words[3] = FromBytes(_mm256_unpackhi_epi64(high01, high23));
}

// Four bytes of each key, or fewer followed by zeros.
DELTABLOOM_TARGET_AVX2 inline Lanes LoadWord(const char* const* keys, size_t at,
                                             size_t size) {
  alignas(32) uint32_t words[kLanes] = {};
  for (size_t i = 0; i < kLanes; ++i) {
    for (size_t b = 0; b < size; ++b) {
      words[i] |= uint32_t{static_cast<unsigned char>(keys[i][at + b])}
                  << (8 * b);
    }
  }
  return Load(words);
}

template <typename H>
DELTABLOOM_TARGET_AVX2 inline Lanes HashOfEqualSizes(const char* const* keys,
                                                     size_t size) {
  Lanes h = All(H::Start(size));
  const char* blocks[kLanes];
  size_t done = 0;
  for (; done + 16 <= size; done += 16) {
    for (size_t i = 0; i < kLanes; ++i) blocks[i] = keys[i] + done;
    Lanes words[4];
    LoadWords(blocks, words);
    for (const Lanes& word : words) h = H::AddWord(h, word);
  }
  for (; done + 4 <= size; done += 4) {
    h = H::AddWord(h, LoadWord(keys, done, 4));
  }
  if (done < size) h = H::AddTail(h, LoadWord(keys, done, size - done));
  return H::End(h);
}

// hashes has room for kBatch; n <= kBatch. Sets hashes[0 .. n) and may write
// the rest.
template <typename H>
DELTABLOOM_TARGET_AVX2 inline void HashMany(KeyBatch keys, size_t n,
                                            uint32_t* hashes) {
  for (size_t from = 0; from < n; from += kLanes) {
    const size_t size = keys[from].size();
    const char* data[kLanes];
    size_t differences = 0;
    for (size_t i = 0; i < kLanes; ++i) {
      const std::string_view key = keys[std::min(from + i, n - 1)];
      differences |= key.size() ^ size;
      data[i] = key.data();
    }
    if (differences == 0) {
      Store(hashes + from, HashOfEqualSizes<H>(data, size));
      continue;
    }
    for (size_t i = from; i < std::min(from + kLanes, n); ++i) {
      hashes[i] = HashOf<H::kScalar>(keys[i]);
    }
    for (size_t i = n; i < from + kLanes; ++i) hashes[i] = 0;
  }
}

// --- Positions -------------------------------------------------------------

struct VectorModulo {
  Lanes divisor;
  Lanes inverse;
};

DELTABLOOM_TARGET_AVX2 inline VectorModulo MakeVectorModulo(
    const Modulo& modulo) {
  return {All(modulo.narrow_divisor()), All(modulo.narrow_inverse())};
}

// The narrow way of NarrowRemainder.
DELTABLOOM_TARGET_AVX2 inline Lanes Remainders(Lanes hashes,
                                               const VectorModulo& modulo) {
  const __m256i h = Bytes(hashes);
  const __m256i inverse = Bytes(modulo.inverse);
  const __m256i even = _mm256_mul_epu32(h, inverse);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(h, 32), inverse);
  const Lanes quotients =
      FromBytes(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa));
  const Lanes remainders = hashes - quotients * modulo.divisor;
  return FromBytes(
      _mm256_min_epu32(Bytes(remainders), Bytes(remainders - modulo.divisor)));
}

// Positions of bits, split into the byte and the bit in it.
template <size_t kCount>
struct Spots {
  alignas(64) uint32_t byte[kCount];
  alignas(64) uint32_t mask[kCount];
};

// The spots of all probes of eight hashes: probe p of hashes[i] goes to
// spots[p], index at + i.
template <size_t kCount>
DELTABLOOM_TARGET_AVX2 inline void Locate(const uint32_t* hashes,
                                          uint32_t probes,
                                          const VectorModulo& modulo,
                                          Spots<kCount>* spots, size_t at) {
  Lanes h = Load(hashes);
  const Lanes delta = h >> 17 | h << 15;
  for (uint32_t p = 0; p < probes; ++p, h += delta) {
    const Lanes positions = Remainders(h, modulo);
    Store(spots[p].byte + at, positions >> 3);
    Store(spots[p].mask + at,
          FromBytes(_mm256_sllv_epi32(Bytes(All(1)), Bytes(positions & 7))));
  }
}

// --- Lookups ---------------------------------------------------------------

// Up to this many probes of a cached payload are made for every key of a batch.
// Finding out which keys need the last of them would take as long.
constexpr uint32_t kProbesAtOnce = 8;

// The bits of key i that are not set among the probes in `spots`.
template <uint32_t kCount>
DELTABLOOM_TARGET_AVX2 inline uint32_t Missing(const unsigned char* payload,
                                               const Spots<kBatch>* spots,
                                               uint32_t count, size_t i) {
  uint32_t missing = 0;
  for (uint32_t p = 0; p < (kCount > 0 ? kCount : count); ++p) {
    missing |= ~uint32_t{payload[spots[p].byte[i]]} & spots[p].mask[i];
  }
  return missing;
}

// Tests a batch in at most two stages: the first probes of all keys, then the
// others of the keys that are left.
template <typename H, uint32_t kProbes, bool kPrefetch>
DELTABLOOM_TARGET_AVX2 inline void MayMatchBatch(const ParsedFilter& parsed,
                                                 KeyBatch keys, size_t n,
                                                 bool* may_match) {
  const Shape& shape = parsed.shape.As<Shape>();
  const VectorModulo modulo = MakeVectorModulo(shape.modulo);
  const unsigned char* const payload = parsed.payload;
  const uint32_t probes = kProbes > 0 ? kProbes : shape.probes;
  constexpr bool kAtOnce =
      !kPrefetch && kProbes > 0 && kProbes <= kProbesAtOnce;
  constexpr uint32_t kFirst = kAtOnce ? kProbes
                              : kProbes > 0
                                  ? std::min(kProbes, kFirstProbesOfBatch)
                                  : kFirstProbesOfBatch;
  alignas(64) uint32_t hashes[kBatch];
  size_t left[kBatch + 1];
  Spots<kBatch> spots[kProbes > 0 ? kProbes : kMaxProbes];

  HashMany<H>(keys, n, hashes);
  for (size_t from = 0; from < n; from += kLanes) {
    Locate(hashes + from, probes, modulo, spots, from);
  }
  for (uint32_t p = 0; kPrefetch && p < kFirst; ++p) {
    for (size_t i = 0; i < n; ++i) {
      __builtin_prefetch(payload + spots[p].byte[i]);
    }
  }
  size_t lefts = 0;
  for (size_t i = 0; i < n; ++i) {
    const bool match = Missing<kFirst>(payload, spots, kFirst, i) == 0;
    may_match[i] = match;
    left[lefts] = i;
    lefts += match;
  }
  if (probes <= kFirst) return;
  for (uint32_t p = kFirst; kPrefetch && p < probes; ++p) {
    for (size_t i = 0; i < lefts; ++i) {
      __builtin_prefetch(payload + spots[p].byte[left[i]]);
    }
  }
  for (size_t i = 0; i < lefts; ++i) {
    may_match[left[i]] =
        Missing<(kProbes > kFirst ? kProbes - kFirst : 0)>(
            payload, spots + kFirst, probes - kFirst, left[i]) == 0;
  }
}

template <KeyHash kHash, uint32_t kProbes>
DELTABLOOM_TARGET_AVX2 bool MayMatchOne(const ParsedFilter& parsed,
                                        std::string_view key) {
  return TestHash<kProbes>(parsed, HashOf<kHash>(key));
}

template <typename H, uint32_t kProbes>
DELTABLOOM_TARGET_AVX2 void MayMatchMany(const ParsedFilter& parsed,
                                         KeyBatch keys, size_t n,
                                         bool* may_match) {
  const bool cached = parsed.payload_size <= kPrefetchLookupsAbove;
  while (n > 0) {
    const size_t batch = std::min(n, kBatch);
    if (batch < 3) {
      for (size_t i = 0; i < batch; ++i) {
        may_match[i] = MayMatchOne<H::kScalar, kProbes>(parsed, keys[i]);
      }
    } else if (cached) {
      MayMatchBatch<H, kProbes, false>(parsed, keys, batch, may_match);
    } else {
      MayMatchBatch<H, kProbes, true>(parsed, keys, batch, may_match);
    }
    keys = keys.From(batch);
    may_match += batch;
    n -= batch;
  }
}

// --- Building --------------------------------------------------------------

DELTABLOOM_TARGET_AVX2 void SetBits(const uint32_t* hashes, size_t n,
                                    const Shape& shape,
                                    unsigned char* payload) {
  const VectorModulo modulo = MakeVectorModulo(shape.modulo);
  const uint32_t probes = shape.probes;
  const bool cached = shape.bits / 8 <= kPrefetchBuildAbove;
  Spots<kBatch> spots[kMaxProbes];
  for (; n >= kBatch; hashes += kBatch, n -= kBatch) {
    for (size_t i = 0; i < kBatch; i += kLanes) {
      Locate(hashes + i, probes, modulo, spots, i);
    }
    for (uint32_t p = 0; !cached && p < probes; ++p) {
      for (const uint32_t byte : spots[p].byte) {
        __builtin_prefetch(payload + byte, /*rw=*/1);
      }
    }
    for (uint32_t p = 0; p < probes; ++p) {
      for (size_t i = 0; i < kBatch; ++i) {
        unsigned char* const byte = payload + spots[p].byte[i];
        *byte = static_cast<unsigned char>(*byte | spots[p].mask[i]);
      }
    }
  }
  SetBitsPortable(hashes, n, shape, payload);
}

template <typename H, uint32_t... kProbes>
constexpr Kernels MakeKernels(std::integer_sequence<uint32_t, kProbes...>) {
  return {{{MayMatchOne<H::kScalar, Specialised(kProbes)>,
            MayMatchMany<H, Specialised(kProbes)>}...},
          SetBits};
}

template <typename H>
constexpr Kernels kKernels = MakeKernels<H>(AllProbes());

}  // namespace

const Kernels& Avx2(Hash hash) {
  return hash == Hash::kLevelDB ? kKernels<VectorLevelDBHash>
                                : kKernels<VectorMurmurHash2>;
}

}  // namespace deltabloom::internal::classic

#endif  // defined(__x86_64__)
