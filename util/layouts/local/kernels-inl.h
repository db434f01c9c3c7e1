// The kernels of local over the rounds of probes of a set of instructions.
//
// The including file defines DELTABLOOM_TARGET, the function attribute of its
// instructions; DELTABLOOM_KERNELS, the function that returns the kernels; and
// in namespace deltabloom::internal::local the class Rounds, like
// PortableRounds. There are no lambdas, as they would not inherit the
// attribute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "util/key_batch.h"
#include "util/layouts/local/local.h"

namespace deltabloom::internal::local {
namespace {

// The number of blocks that are prefetched while bits are set.
constexpr size_t kWindow = 16;

DELTABLOOM_TARGET inline const unsigned char* Block(const ParsedFilter& parsed,
                                                    uint64_t hash) {
  return parsed.payload +
         BlockOf(hash, parsed.shape.As<Shape>().blocks) * kBlockSize;
}

template <size_t kRounds>
DELTABLOOM_TARGET inline bool TestHash(const ParsedFilter& parsed,
                                       uint64_t hash) {
  const Shape& shape = parsed.shape.As<Shape>();
  const unsigned char* block = Block(parsed, hash);
  const bool first = Rounds::Test(block, hash, 0, shape.first);
  if (kRounds == 1 || !first) return first;
  block += kBlockSize;
  if (block == parsed.payload + parsed.payload_size) block = parsed.payload;
  return Rounds::Test(block, hash, 1, shape.second);
}

// Lookups of keys that do not have 8 to 16 bytes are functions of their own, so
// that those of common keys save fewer registers.
template <size_t kRounds>
DELTABLOOM_TARGET __attribute__((noinline)) bool MayMatchRare(
    const ParsedFilter& parsed, std::string_view key) {
  return TestHash<kRounds>(parsed, Hash64AnySize(key.data(), key.size()));
}

template <size_t kRounds>
DELTABLOOM_TARGET __attribute__((noinline)) bool MayMatchMedium(
    const ParsedFilter& parsed, std::string_view key) {
  if (!IsHash64Medium(key.size())) return MayMatchRare<kRounds>(parsed, key);
  return TestHash<kRounds>(parsed, Hash64Medium(key.data(), key.size()));
}

template <size_t kRounds>
DELTABLOOM_TARGET bool MayMatch(const ParsedFilter& parsed,
                                std::string_view key) {
  if (!IsHash64Short(key.size())) return MayMatchMedium<kRounds>(parsed, key);
  return TestHash<kRounds>(parsed, Hash64Short(key.data(), key.size()));
}

template <size_t kRounds>
DELTABLOOM_TARGET void MayMatchMany(const ParsedFilter& parsed, KeyBatch keys,
                                    size_t n, bool* may_match) {
  // Blocks of small filters are prefetched, too: with many filters, few of them
  // are in a near cache.
  uint64_t hashes[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      hashes[i] = Hash64(keys[begin + i]);
      const unsigned char* block = Block(parsed, hashes[i]);
      __builtin_prefetch(block);
      __builtin_prefetch(block + kBlockSize - 1);
    }
    // Computing the place of a block again takes less time than keeping it.
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] = TestHash<kRounds>(parsed, hashes[i]);
    }
  }
}

template <size_t kRounds>
DELTABLOOM_TARGET void SetBitsOf(const uint64_t* hashes, size_t n,
                                 const Shape& shape, unsigned char* payload) {
  const Shape local = shape;
  const bool fetch = local.blocks * kBlockSize > kPrefetchBuildAbove;
  for (size_t i = 0; i < n; ++i) {
    if (fetch && n - i > kWindow) {
      const unsigned char* ahead =
          payload + BlockOf(hashes[i + kWindow], local.blocks) * kBlockSize;
      __builtin_prefetch(ahead, 1);
      __builtin_prefetch(ahead + kRounds * kBlockSize - 1, 1);
    }
    const uint64_t block = BlockOf(hashes[i], local.blocks);
    Rounds::Set(payload + block * kBlockSize, hashes[i], 0, local.first);
    if (kRounds == 2) {
      const uint64_t next = NextBlock(block, local.blocks);
      Rounds::Set(payload + next * kBlockSize, hashes[i], 1, local.second);
    }
  }
}

DELTABLOOM_TARGET void SetBits(const uint64_t* hashes, size_t n,
                               const Shape& shape, unsigned char* payload) {
  if (shape.second == 0) return SetBitsOf<1>(hashes, n, shape, payload);
  return SetBitsOf<2>(hashes, n, shape, payload);
}

constexpr Kernels kKernels = {
    {{MayMatch<1>, MayMatchMany<1>}, {MayMatch<2>, MayMatchMany<2>}}, SetBits};

}  // namespace

const Kernels& DELTABLOOM_KERNELS() { return kKernels; }

}  // namespace deltabloom::internal::local
