#include "util/coding.h"
#include "util/local_kernels.h"

namespace deltabloom::internal {
namespace {

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

bool TestRound(const unsigned char* block, uint64_t hash, uint32_t round,
               uint64_t probes) {
  for (uint32_t probe = 0; probe < probes; ++probe) {
    const Spot spot = MakeSpot(hash, round, Sector(hash, probe));
    if ((block[spot.byte] >> spot.bit & 1) == 0) return false;
  }
  return true;
}

bool MayMatch(const ParsedFilter& parsed, std::string_view key) {
  return LocalMayMatchHash(parsed, Hash64(key));
}

void MayMatchMany(const ParsedFilter& parsed, const std::string_view* keys,
                  size_t n, bool* may_match) {
  for (size_t i = 0; i < n; ++i) may_match[i] = MayMatch(parsed, keys[i]);
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
  const uint64_t blocks = parsed.geometry[kLocalBlocks];
  const uint64_t block = ScaleHash(hash, blocks);
  if (!TestRound(parsed.payload + block * kLocalBlockSize, hash, 0,
                 parsed.geometry[kLocalFirst])) {
    return false;
  }
  const uint64_t next = block + 1 == blocks ? 0 : block + 1;
  return TestRound(parsed.payload + next * kLocalBlockSize, hash, 1,
                   parsed.geometry[kLocalSecond]);
}

const LocalKernels& LocalPortable() { return kKernels; }

}  // namespace deltabloom::internal
