// The classic kernels many keys at a time, over the vector type of a set of
// instructions.
//
// The including file defines DELTABLOOM_TARGET, the function attribute of its
// instructions, includes scalar-inl.h, and defines in namespace
// deltabloom::internal::classic a struct Vector: kLanes lanes of 32 bits and
// the operations used below. No lambdas: they would not inherit the attribute.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SIMD_INL_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SIMD_INL_H_

#include <utility>

#include "util/layouts/classic/simd_hash-inl.h"

namespace deltabloom::internal::classic {
namespace {

// So many probes of a cached payload are all made for every key of a batch:
// to find out which keys need the last of them takes as long.
constexpr uint32_t kProbesAtOnce = 8;

struct VectorModulo {
  Lanes divisor;
  Lanes inverse;
};

DELTABLOOM_TARGET inline VectorModulo MakeVectorModulo(const Modulo& modulo) {
  return {Vector::Set(modulo.narrow_divisor()),
          Vector::Set(modulo.narrow_inverse())};
}

// The narrow way of modulo.h.
DELTABLOOM_TARGET inline Lanes Remainders(Lanes hashes,
                                          const VectorModulo& modulo) {
  const Lanes quotients = Vector::MulHigh(hashes, modulo.inverse);
  const Lanes remainders =
      Vector::Sub(hashes, Vector::Mul(quotients, modulo.divisor));
  return Vector::Min(remainders, Vector::Sub(remainders, modulo.divisor));
}

// Positions of bits, split into the byte and the bit in it.
template <size_t kCount>
struct Spots {
  alignas(64) uint32_t byte[kCount];
  alignas(64) uint32_t mask[kCount];
};

DELTABLOOM_TARGET inline void Split(Lanes positions, uint32_t* byte,
                                    uint32_t* mask) {
  Vector::Store(byte, Vector::ShiftRight<3>(positions));
  Vector::Store(mask,
                Vector::PowerOfTwo(Vector::And(positions, Vector::Set(7))));
}

// --- Lookups ---------------------------------------------------------------

// Missing bits of key i among the probes kept in spots.
template <uint32_t kCount>
DELTABLOOM_TARGET inline uint32_t Missing(const unsigned char* payload,
                                          const Spots<kBatch>* spots,
                                          uint32_t count, size_t i) {
  uint32_t missing = 0;
  for (uint32_t p = 0; p < (kCount > 0 ? kCount : count); ++p) {
    missing |= ~uint32_t{payload[spots[p].byte[i]]} & spots[p].mask[i];
  }
  return missing;
}

// Spots of all probes of n hashes.
DELTABLOOM_TARGET inline void Locate(const uint32_t* hashes, size_t n,
                                     uint32_t probes,
                                     const VectorModulo& modulo,
                                     Spots<kBatch>* spots) {
  for (size_t from = 0; from < n; from += kLanes) {
    Lanes h = Vector::Load(hashes + from);
    const Lanes delta = Vector::RotateRight<17>(h);
    for (uint32_t p = 0; p < probes; ++p) {
      Split(Remainders(h, modulo), spots[p].byte + from, spots[p].mask + from);
      h = Vector::Add(h, delta);
    }
  }
}

// At most two stages: the first probes of all keys, then the others of the
// keys that are left.
template <typename H, uint32_t kProbes, bool kPrefetch>
DELTABLOOM_TARGET inline void MayMatchBatch(const ParsedFilter& parsed,
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
  Locate(hashes, n, probes, modulo, spots);
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

template <typename H, uint32_t kProbes>
DELTABLOOM_TARGET void MayMatchMany(const ParsedFilter& parsed, KeyBatch keys,
                                    size_t n, bool* may_match) {
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

struct SpotsOfHashes {
  Spots<kLanes> probe[kMaxProbes];
};

DELTABLOOM_TARGET inline void LocateAll(const uint32_t* hashes, uint32_t probes,
                                        const VectorModulo& modulo,
                                        SpotsOfHashes* spots) {
  Lanes h = Vector::LoadUnaligned(hashes);
  const Lanes delta = Vector::RotateRight<17>(h);
  for (uint32_t p = 0; p < probes; ++p) {
    Split(Remainders(h, modulo), spots->probe[p].byte, spots->probe[p].mask);
    h = Vector::Add(h, delta);
  }
}

DELTABLOOM_TARGET inline void SetAll(const SpotsOfHashes& spots,
                                     uint32_t probes, unsigned char* payload) {
  for (uint32_t p = 0; p < probes; ++p) {
    for (size_t i = 0; i < kLanes; ++i) {
      unsigned char* const byte = payload + spots.probe[p].byte[i];
      *byte = static_cast<unsigned char>(*byte | spots.probe[p].mask[i]);
    }
  }
}

DELTABLOOM_TARGET inline void PrefetchAll(const SpotsOfHashes& spots,
                                          uint32_t probes,
                                          const unsigned char* payload) {
  for (uint32_t p = 0; p < probes; ++p) {
    for (size_t i = 0; i < kLanes; ++i) {
      __builtin_prefetch(payload + spots.probe[p].byte[i], /*rw=*/1);
    }
  }
}

DELTABLOOM_TARGET void SetBits(const uint32_t* hashes, size_t n,
                               const Shape& shape, unsigned char* payload) {
  const VectorModulo modulo = MakeVectorModulo(shape.modulo);
  const uint32_t probes = shape.probes;
  const bool cached = shape.bits / 8 <= kPrefetchBuildAbove;
  // With prefetching, bits are set one group of hashes behind.
  SpotsOfHashes spots[2];
  size_t done = 0;
  for (; done + kLanes <= n; done += kLanes) {
    SpotsOfHashes& now = spots[done / kLanes % 2];
    LocateAll(hashes + done, probes, modulo, &now);
    if (cached) {
      SetAll(now, probes, payload);
      continue;
    }
    PrefetchAll(now, probes, payload);
    if (done > 0) SetAll(spots[(done / kLanes + 1) % 2], probes, payload);
  }
  if (!cached && done > 0) {
    SetAll(spots[(done / kLanes + 1) % 2], probes, payload);
  }
  for (; done < n; ++done) SetBitsOfOne(hashes[done], shape, payload);
}

template <typename H, uint32_t... kProbes>
constexpr Kernels MakeKernels(std::integer_sequence<uint32_t, kProbes...>) {
  return {{{MayMatchOne<H::kScalar, Specialised(kProbes)>,
            MayMatchMany<H, Specialised(kProbes)>}...},
          SetBits};
}

constexpr Kernels kMurmurHash2Kernels = MakeKernels<VectorMurmurHash2>(
    std::make_integer_sequence<uint32_t, kMaxProbes + 1>());
constexpr Kernels kLevelDBHashKernels = MakeKernels<VectorLevelDBHash>(
    std::make_integer_sequence<uint32_t, kMaxProbes + 1>());

}  // namespace
}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SIMD_INL_H_
