// The kernels of local for any machine.
#include <algorithm>

#include "util/coding.h"
#include "util/key_batch.h"
#include "util/layouts/local/local.h"

namespace deltabloom::internal::local {
namespace {

// Probes tested before the first branch.
constexpr uint32_t kFirstProbes = 4;

// Are the bits of probes begin .. end - 1 set? Without a branch between them.
inline bool TestProbes(const unsigned char* block, uint64_t hash,
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

// A branch per probe would be mispredicted: half of the bits are set.
inline bool TestRound(const unsigned char* block, uint64_t hash, uint32_t round,
                      uint32_t probes) {
  const uint32_t few = std::min(probes, kFirstProbes);
  return TestProbes(block, hash, round, 0, few) &&
         (few == probes || TestProbes(block, hash, round, few, probes));
}

bool MayMatch(const ParsedFilter& parsed, std::string_view key) {
  return MayMatchHash(parsed, Hash64(key));
}

void MayMatchMany(const ParsedFilter& parsed, KeyBatch keys, size_t n,
                  bool* may_match) {
  const uint64_t blocks = parsed.shape.As<Shape>().blocks;
  uint64_t hashes[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      hashes[i] = Hash64(keys[begin + i]);
      const unsigned char* block =
          parsed.payload + BlockOf(hashes[i], blocks) * kBlockSize;
      __builtin_prefetch(block);
      __builtin_prefetch(block + kBlockSize - 1);
    }
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] = MayMatchHash(parsed, hashes[i]);
    }
  }
}

void SetRound(unsigned char* block, uint64_t hash, uint32_t round,
              uint32_t probes) {
  for (uint32_t probe = 0; probe < probes; ++probe) {
    const uint32_t bit = BitOf(hash, round, SectorOf(hash, probe));
    block[bit / 8] =
        static_cast<unsigned char>(block[bit / 8] | 1u << (bit % 8));
  }
}

void SetBits(const uint64_t* hashes, size_t n, const Shape& shape,
             unsigned char* payload) {
  for (size_t i = 0; i < n; ++i) {
    const uint64_t block = BlockOf(hashes[i], shape.blocks);
    SetRound(payload + block * kBlockSize, hashes[i], 0, shape.first);
    const uint64_t next = NextBlock(block, shape.blocks);
    SetRound(payload + next * kBlockSize, hashes[i], 1, shape.second);
  }
}

constexpr Lookup kLookup = {MayMatch, MayMatchMany};
constexpr Kernels kKernels = {{kLookup, kLookup}, SetBits};

}  // namespace

bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  const Shape& shape = parsed.shape.As<Shape>();
  const uint64_t block = BlockOf(hash, shape.blocks);
  if (!TestRound(parsed.payload + block * kBlockSize, hash, 0, shape.first)) {
    return false;
  }
  if (shape.second == 0) return true;
  const uint64_t next = NextBlock(block, shape.blocks);
  return TestRound(parsed.payload + next * kBlockSize, hash, 1, shape.second);
}

const Kernels& Portable() { return kKernels; }

}  // namespace deltabloom::internal::local
