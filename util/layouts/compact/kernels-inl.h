// The lookups of the layout compact over the comparison of a set of
// instructions.
//
// The including file defines DELTABLOOM_TARGET, the function attribute of its
// instructions; DELTABLOOM_KERNELS, the function that returns the kernels; and
// in namespace deltabloom::internal::compact the function Holds<kColumns>. No
// lambdas: they would not inherit the attribute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "util/key_batch.h"
#include "util/layouts/compact/compact.h"

namespace deltabloom::internal::compact {
namespace {

// A function of its own, so that other keys need not save its registers.
template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((noinline)) bool TestApart(
    const ParsedFilter& parsed, uint64_t hash) {
  return Holds<kColumns>(MakeQuery(parsed, kColumns, Locate(parsed, hash)));
}

template <unsigned kColumns>
DELTABLOOM_TARGET inline bool TestHash(const ParsedFilter& parsed,
                                       uint64_t hash) {
  Located located;
  if (__builtin_expect(!LocateQuickly(parsed, hash, &located), 0)) {
    return TestApart<kColumns>(parsed, hash);
  }
  return Holds<kColumns>(MakeQuery(parsed, kColumns, located));
}

// Flattened: the hash and all else that a lookup needs is part of it. Longer
// keys are apart, like those above.
template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((flatten, noinline)) bool MayMatchLonger(
    const ParsedFilter& parsed, std::string_view key) {
  return TestHash<kColumns>(parsed, Hash64(key));
}

template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((flatten)) bool MayMatch(
    const ParsedFilter& parsed, std::string_view key) {
  if (!IsHash64Short(key.size())) return MayMatchLonger<kColumns>(parsed, key);
  return TestHash<kColumns>(parsed, Hash64Short(key.data(), key.size()));
}

template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((flatten)) void MayMatchMany(
    const ParsedFilter& parsed, KeyBatch keys, size_t n, bool* may_match) {
  Query queries[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      const uint64_t hash = Hash64(keys[begin + i]);
      Located located;
      if (!LocateQuickly(parsed, hash, &located)) {
        located = Locate(parsed, hash);
      }
      queries[i] = MakeQuery(parsed, kColumns, located);
      queries[i].Fetch(kColumns);
    }
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] = Holds<kColumns>(queries[i]);
    }
  }
}

template <size_t... kIndex>
constexpr Kernels MakeKernels(std::index_sequence<kIndex...>) {
  return {{{MayMatch<kIndex + 1>, MayMatchMany<kIndex + 1>}...},
          {TestApart<kIndex + 1>...}};
}

constexpr Kernels kKernels =
    MakeKernels(std::make_index_sequence<kMaxColumns>());

}  // namespace

const Kernels& DELTABLOOM_KERNELS() { return kKernels; }

}  // namespace deltabloom::internal::compact
