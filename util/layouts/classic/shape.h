// What the bytes of a classic filter say, and how large a filter becomes: what
// docs/format.md, chapter "Classic", defines stands here, in modulo.h and in
// the hashes.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SHAPE_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "util/hash.h"
#include "util/layouts/classic/modulo.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal::classic {

// The last byte of a filter is its number of probes, up to this.
inline constexpr uint32_t kMaxProbes = 30;

// The hash of a key, of which all its probes are made.
inline uint32_t HashKey(Hash hash, std::string_view key) {
  return hash == Hash::kLevelDB
             ? LevelDBHash(key.data(), key.size(), kBloomHashSeed)
             : MurmurHash2(key.data(), key.size(), kBloomHashSeed);
}

// What is added to a hash from one probe to the next: the hash rotated right
// by 17. Probe i is at bit (hash + i * delta) mod bits.
inline uint32_t Delta(uint32_t hash) { return hash >> 17 | hash << 15; }

struct Shape {
  Modulo modulo;  // by bits
  uint64_t bits;
  uint32_t probes;
};

inline Shape MakeShape(uint64_t payload_size, uint32_t probes) {
  // Sizes that can be planned, but not allocated, have more bits than a number.
  const uint64_t bits = std::min(payload_size, ~uint64_t{0} / 8) * 8;
  return {MakeModulo(bits), bits, probes};
}

// Makes the plan one of this size and number of probes, whatever the keys.
void SetSize(uint64_t payload_size, uint32_t probes, Plan* plan);

// For the rows, which say what they do.
bool PlanMurmurHash2(uint32_t millibits_per_key, Plan* plan);
bool PlanLevelDBHash(uint32_t millibits_per_key, Plan* plan);
void Grow(Plan* plan, uint64_t payload_limit);

}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SHAPE_H_
