#include <algorithm>

#include "util/coding.h"
#include "util/key_refs.h"
#include "util/local_kernels.h"

namespace deltabloom::internal {
namespace {

// Probes tested before the first branch.
constexpr uint32_t kFirstProbes = 4;

// Of the probe in `sector`: the byte of the block and the bit in it.
struct Spot {
  uint32_t byte;
  uint32_t bit;
};

inline Spot MakeSpot(uint64_t hash, uint32_t round, uint32_t sector) {
  const uint32_t product = static_cast<uint32_t>(hash) *
                           kLocalMultipliers[round * kLocalSectors + sector];
  const uint32_t word = sector + (product >> 26) % 2 * kLocalSectors;
  const uint32_t bit = product >> 27;
  return {4 * word + bit / 8, bit % 8};
}

inline uint32_t FirstSector(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32) % kLocalSectors;
}

// Masks of n ones begin at [r], so that the sectors taken are those i with
// (i + r) mod 8 < n.
inline uint32_t Sector(uint64_t hash, uint32_t probe) {
  return (probe + kLocalSectors - FirstSector(hash)) % kLocalSectors;
}

// Are the bits of probes begin .. end - 1 set? Without a branch between them.
inline bool TestProbes(const unsigned char* block, uint64_t hash,
                       uint32_t round, uint32_t begin, uint32_t end) {
  uint32_t all = 1;
  for (uint32_t probe = begin; probe < end; ++probe) {
    const uint32_t sector = Sector(hash, probe);
    const uint32_t product = static_cast<uint32_t>(hash) *
                             kLocalMultipliers[round * kLocalSectors + sector];
    const uint32_t upper = (product >> 26) % 2 * (kLocalBlockSize / 2);
    all &= LoadFixed32(block + 4 * sector + upper) >> (product >> 27);
  }
  return all != 0;
}

// A branch per probe would be mispredicted: half of the bits are set.
inline bool TestRound(const unsigned char* block, uint64_t hash, uint32_t round,
                      uint64_t probes) {
  const auto end = static_cast<uint32_t>(probes);
  const uint32_t few = std::min(end, kFirstProbes);
  return TestProbes(block, hash, round, 0, few) &&
         (few == end || TestProbes(block, hash, round, few, end));
}

// `block` is that of the key with this hash.
bool Test(const ParsedFilter& parsed, uint64_t block, uint64_t hash) {
  if (!TestRound(parsed.payload + block * kLocalBlockSize, hash, 0,
                 parsed.geometry[kLocalFirst])) {
    return false;
  }
  if (parsed.geometry[kLocalSecond] == 0) return true;
  const uint64_t next =
      block + 1 == parsed.geometry[kLocalBlocks] ? 0 : block + 1;
  return TestRound(parsed.payload + next * kLocalBlockSize, hash, 1,
                   parsed.geometry[kLocalSecond]);
}

bool MayMatch(const ParsedFilter& parsed, std::string_view key) {
  return LocalMayMatchHash(parsed, Hash64(key));
}

void MayMatchMany(const ParsedFilter& parsed, KeyRefs keys, size_t n,
                  bool* may_match) {
  uint64_t hashes[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      hashes[i] = Hash64(keys[begin + i]);
      const unsigned char* block =
          parsed.payload +
          ScaleHash(hashes[i], parsed.geometry[kLocalBlocks]) * kLocalBlockSize;
      __builtin_prefetch(block);
      __builtin_prefetch(block + kLocalBlockSize - 1);
    }
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] = LocalMayMatchHash(parsed, hashes[i]);
    }
  }
}

void SetRound(unsigned char* block, uint64_t hash, uint32_t round,
              uint32_t probes) {
  for (uint32_t probe = 0; probe < probes; ++probe) {
    const Spot spot = MakeSpot(hash, round, Sector(hash, probe));
    block[spot.byte] =
        static_cast<unsigned char>(block[spot.byte] | (1u << spot.bit));
  }
}

void SetBits(const uint64_t* hashes, size_t n, const LocalShape& shape,
             unsigned char* payload) {
  for (size_t i = 0; i < n; ++i) {
    const uint64_t block = ScaleHash(hashes[i], shape.blocks);
    SetRound(payload + block * kLocalBlockSize, hashes[i], 0, shape.first);
    const uint64_t next = block + 1 == shape.blocks ? 0 : block + 1;
    SetRound(payload + next * kLocalBlockSize, hashes[i], 1, shape.second);
  }
}

constexpr LocalKernels kKernels = {
    {MayMatch, MayMatch}, {MayMatchMany, MayMatchMany}, SetBits};

}  // namespace

bool LocalMayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  return Test(parsed, ScaleHash(hash, parsed.geometry[kLocalBlocks]), hash);
}

const LocalKernels& LocalPortable() { return kKernels; }

}  // namespace deltabloom::internal
