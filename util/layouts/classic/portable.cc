#include <utility>

#define DELTABLOOM_TARGET

#include "util/layouts/classic/scalar-inl.h"

namespace deltabloom::internal::classic {
namespace {

// Positions of the probes of a key.
template <uint32_t kProbes>
struct Positions {
  uint32_t probe[kProbes > 0 ? kProbes : kMaxProbes];
};

// Fills in and prefetches the positions of probes from .. to - 1.
template <typename Positions>
inline void Fetch(const ParsedFilter& parsed, uint32_t hash, uint32_t from,
                  uint32_t to, Positions* positions) {
  const Modulo modulo = parsed.shape.As<Shape>().modulo;
  const uint32_t delta = Delta(hash);
  for (uint32_t p = from; p < to; ++p) {
    positions->probe[p] = Remainder(hash + p * delta, modulo);
    __builtin_prefetch(parsed.payload + positions->probe[p] / 8);
  }
}

template <typename Positions>
inline bool TestFetched(const ParsedFilter& parsed, const Positions& positions,
                        uint32_t from, uint32_t to) {
  uint32_t bits = 1;
  for (uint32_t p = from; p < to; ++p) {
    bits &= Bit(parsed.payload, positions.probe[p]);
  }
  return bits != 0;
}

// Two stages: the first probes of all keys, then the others of the keys that
// are left.
template <uint32_t kProbes>
inline void TestWithPrefetch(const ParsedFilter& parsed, const uint32_t* hashes,
                             size_t n, bool* may_match) {
  const uint32_t probes =
      kProbes > 0 ? kProbes : parsed.shape.As<Shape>().probes;
  constexpr uint32_t kFirst = kProbes > 0
                                  ? std::min(kProbes, kFirstProbesOfBatch)
                                  : kFirstProbesOfBatch;
  size_t left[kBatch + 1];
  Positions<kProbes> positions[kBatch];
  for (size_t i = 0; i < n; ++i) {
    Fetch(parsed, hashes[i], 0, kFirst, &positions[i]);
  }
  size_t lefts = 0;
  for (size_t i = 0; i < n; ++i) {
    const bool match = TestFetched(parsed, positions[i], 0, kFirst);
    may_match[i] = match;
    left[lefts] = i;
    lefts += match;
  }
  if (probes <= kFirst) return;
  for (size_t i = 0; i < lefts; ++i) {
    Fetch(parsed, hashes[left[i]], kFirst, probes, &positions[left[i]]);
  }
  for (size_t i = 0; i < lefts; ++i) {
    may_match[left[i]] =
        TestFetched(parsed, positions[left[i]], kFirst, probes);
  }
}

// The hashes of a batch come first: each is one chain of dependent steps, and
// the CPU overlaps them best when nothing stands between.
template <KeyHash kHash, uint32_t kProbes>
void MayMatchMany(const ParsedFilter& parsed, KeyBatch keys, size_t n,
                  bool* may_match) {
  const bool cached = parsed.payload_size <= kPrefetchLookupsAbove;
  uint32_t hashes[kBatch];
  while (n > 0) {
    const size_t batch = std::min(n, kBatch);
    for (size_t i = 0; i < batch; ++i) {
      const std::string_view key = keys[i];
      hashes[i] = kHash(key.data(), key.size(), kBloomHashSeed);
    }
    if (cached) {
      for (size_t i = 0; i < batch; ++i) {
        may_match[i] = TestProbes<kProbes>(parsed, hashes[i]);
      }
    } else {
      TestWithPrefetch<kProbes>(parsed, hashes, batch, may_match);
    }
    keys = keys.From(batch);
    may_match += batch;
    n -= batch;
  }
}

void SetBits(const uint32_t* hashes, size_t n, const Shape& shape,
             unsigned char* payload) {
  for (size_t i = 0; i < n; ++i) SetBitsOfOne(hashes[i], shape, payload);
}

template <KeyHash kHash, uint32_t... kProbes>
constexpr Kernels MakeKernels(std::integer_sequence<uint32_t, kProbes...>) {
  return {{{MayMatchOne<kHash, Specialised(kProbes)>,
            MayMatchMany<kHash, Specialised(kProbes)>}...},
          SetBits};
}

constexpr Kernels kMurmurHash2Kernels = MakeKernels<MurmurHash2>(
    std::make_integer_sequence<uint32_t, kMaxProbes + 1>());
constexpr Kernels kLevelDBHashKernels = MakeKernels<LevelDBHash>(
    std::make_integer_sequence<uint32_t, kMaxProbes + 1>());

}  // namespace

bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  return TestRange(parsed, static_cast<uint32_t>(hash), 0,
                   parsed.shape.As<Shape>().probes);
}

const Kernels& PortableMurmurHash2() { return kMurmurHash2Kernels; }
const Kernels& PortableLevelDBHash() { return kLevelDBHashKernels; }

}  // namespace deltabloom::internal::classic
