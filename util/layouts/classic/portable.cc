// The kernels of classic for any machine.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "util/key_batch.h"
#include "util/layouts/classic/classic.h"

namespace deltabloom::internal::classic {
namespace {

inline void Prefetch(const ParsedFilter& parsed, uint32_t hash, uint32_t from,
                     uint32_t to) {
  const Modulo modulo = parsed.shape.As<Shape>().modulo;
  const uint32_t delta = Delta(hash);
  for (uint32_t i = from; i < to; ++i) {
    __builtin_prefetch(parsed.payload + modulo(hash + i * delta) / 8);
  }
}

// Two stages: the first probes of all keys, then the others of the keys that
// are left. A position takes less time to compute again than to keep.
template <uint32_t kProbes>
inline void TestWithPrefetch(const ParsedFilter& parsed, const uint32_t* hashes,
                             size_t n, bool* may_match) {
  const Modulo modulo = parsed.shape.As<Shape>().modulo;
  const uint32_t probes =
      kProbes > 0 ? kProbes : parsed.shape.As<Shape>().probes;
  const uint32_t first = std::min(probes, kFirstProbesOfBatch);
  size_t left[kBatch + 1];
  size_t lefts = 0;
  for (size_t i = 0; i < n; ++i) Prefetch(parsed, hashes[i], 0, first);
  for (size_t i = 0; i < n; ++i) {
    may_match[i] = TestRange(parsed.payload, modulo, hashes[i], 0, first);
    left[lefts] = i;
    lefts += may_match[i];
  }
  if (probes <= first) return;
  for (size_t i = 0; i < lefts; ++i) {
    Prefetch(parsed, hashes[left[i]], first, probes);
  }
  for (size_t i = 0; i < lefts; ++i) {
    may_match[left[i]] =
        TestRange(parsed.payload, modulo, hashes[left[i]], first, probes);
  }
}

template <KeyHash kHash, uint32_t kProbes>
bool MayMatchOne(const ParsedFilter& parsed, std::string_view key) {
  return TestHash<kProbes>(parsed, HashOf<kHash>(key));
}

// The hashes of a batch come first: each is one chain of dependent steps, and
// the CPU overlaps them best when nothing stands between.
template <KeyHash kHash, uint32_t kProbes>
void MayMatchMany(const ParsedFilter& parsed, KeyBatch keys, size_t n,
                  bool* may_match) {
  const bool cached = parsed.payload_size <= kPrefetchLookupsAbove;
  uint32_t hashes[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(n - begin, kBatch);
    for (size_t i = 0; i < batch; ++i) {
      hashes[i] = HashOf<kHash>(keys[begin + i]);
    }
    if (!cached) {
      TestWithPrefetch<kProbes>(parsed, hashes, batch, may_match + begin);
      continue;
    }
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] = TestHash<kProbes>(parsed, hashes[i]);
    }
  }
}

template <KeyHash kHash, uint32_t... kProbes>
constexpr Kernels MakeKernels(std::integer_sequence<uint32_t, kProbes...>) {
  return {{{MayMatchOne<kHash, Specialised(kProbes)>,
            MayMatchMany<kHash, Specialised(kProbes)>}...},
          SetBitsPortable};
}

template <KeyHash kHash>
constexpr Kernels kKernels = MakeKernels<kHash>(AllProbes());

}  // namespace

void SetBitsPortable(const uint32_t* hashes, size_t n, const Shape& shape,
                     unsigned char* payload) {
  const Modulo modulo = shape.modulo;
  const uint32_t probes = shape.probes;
  for (size_t key = 0; key < n; ++key) {
    uint32_t hash = hashes[key];
    const uint32_t delta = Delta(hash);
    for (uint32_t i = 0; i < probes; ++i, hash += delta) {
      const uint32_t position = modulo(hash);
      payload[position / 8] = static_cast<unsigned char>(payload[position / 8] |
                                                         1u << (position % 8));
    }
  }
}

const Kernels& Portable(Hash hash) {
  return hash == Hash::kLevelDB ? kKernels<LevelDBHash> : kKernels<MurmurHash2>;
}

}  // namespace deltabloom::internal::classic
