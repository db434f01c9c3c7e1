#include "util/classic.h"

#include <algorithm>

#include "util/hash.h"

namespace deltabloom::internal {
namespace {

constexpr uint64_t kMinBits = 64;
constexpr uint32_t kMaxProbes = 30;

// Positions are 32-bit hashes modulo the number of bits, so bits from here on
// would never be set.
constexpr uint64_t kMaxUsefulBits = uint64_t{1} << 32;

using HashFn = uint32_t (*)(const char* data, size_t size, uint32_t seed);

inline uint32_t Delta(uint32_t hash) { return hash >> 17 | hash << 15; }

// geometry[0]: bits, geometry[1]: probes.
template <HashFn kHash>
struct Classic {
  static uint64_t HashKey(std::string_view key) {
    return kHash(key.data(), key.size(), kBloomHashSeed);
  }

  static bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
    const uint64_t bits = parsed.geometry[0];
    auto position_hash = static_cast<uint32_t>(hash);
    const uint32_t delta = Delta(position_hash);
    for (uint64_t i = 0; i < parsed.geometry[1]; ++i) {
      const uint64_t position = position_hash % bits;
      if ((parsed.payload[position / 8] >> (position % 8) & 1) == 0) {
        return false;
      }
      position_hash += delta;
    }
    return true;
  }

  static bool MayMatch(const ParsedFilter& parsed, std::string_view key) {
    return MayMatchHash(parsed, HashKey(key));
  }

  static void MayMatchMany(const ParsedFilter& parsed,
                           const std::string_view* keys, size_t n,
                           bool* may_match) {
    for (size_t i = 0; i < n; ++i) may_match[i] = MayMatch(parsed, keys[i]);
  }

  static bool Parse(uint8_t last_byte, CpuLevel, ParsedFilter* parsed) {
    // Zero probes is legal and matches everything.
    if (last_byte > kMaxProbes || parsed->payload_size == 0) return false;
    parsed->geometry[0] = parsed->payload_size * 8;
    parsed->geometry[1] = last_byte;
    parsed->may_match = MayMatch;
    parsed->may_match_many = MayMatchMany;
    return true;
  }
};

// floor(keys * millibits / 1000), or the largest value when it overflows.
uint64_t BitsFor(uint64_t keys, uint32_t millibits) {
  const uint64_t thousands = keys / 1000;
  uint64_t bits;
  if (__builtin_mul_overflow(thousands, uint64_t{millibits}, &bits) ||
      __builtin_add_overflow(bits, keys % 1000 * millibits / 1000, &bits)) {
    return ~uint64_t{0};
  }
  return bits;
}

Plan PlanWithin(uint64_t keys, uint32_t millibits, uint64_t max_bits) {
  const uint64_t bits =
      std::clamp(BitsFor(keys, millibits), kMinBits, max_bits);
  Plan plan;
  plan.keys = keys;
  plan.payload_size = bits / 8 + (bits % 8 != 0);
  // 0.69 ~ ln 2, the number of probes that minimises the false positives.
  plan.parameter = static_cast<uint32_t>(
      std::clamp<uint64_t>(uint64_t{millibits} * 69 / 100000, 1, kMaxProbes));
  plan.last_byte = static_cast<uint8_t>(plan.parameter);
  return plan;
}

Plan PlanMurmurHash2(uint64_t keys, uint32_t millibits) {
  return PlanWithin(keys, millibits, kMaxUsefulBits);
}

// As LevelDB, which knows no upper end.
Plan PlanLevelDBHash(uint64_t keys, uint32_t millibits) {
  return PlanWithin(keys, millibits, ~uint64_t{0});
}

void Grow(Plan* plan, uint64_t payload_limit) {
  plan->payload_size =
      std::max(plan->payload_size, std::min(payload_limit, kMaxUsefulBits / 8));
}

bool Build(HashList* hashes, bool, const Plan& plan, CpuLevel,
           unsigned char* payload) {
  const uint64_t bits = plan.payload_size * 8;
  hashes->ForEachChunk<uint32_t>([&](const uint32_t* chunk, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      uint32_t hash = chunk[i];
      const uint32_t delta = Delta(hash);
      for (uint32_t probe = 0; probe < plan.parameter; ++probe) {
        const uint64_t position = hash % bits;
        payload[position / 8] |=
            static_cast<unsigned char>(1u << (position % 8));
        hash += delta;
      }
    }
  });
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  return "classic, " + std::to_string(parsed.geometry[1]) + " probes, " +
         std::to_string(parsed.geometry[0]) + " bits";
}

}  // namespace

const LayoutRow kClassicMurmurHash2 = {
    Layout::kClassic,
    Hash::kMurmurHash2,
    "classic",
    0,
    kMaxProbes,
    sizeof(uint32_t),
    nullptr,
    Classic<MurmurHash2>::HashKey,
    PlanMurmurHash2,
    Grow,
    Build,
    Classic<MurmurHash2>::Parse,
    Classic<MurmurHash2>::MayMatchHash,
    Describe,
};

const LayoutRow kClassicLevelDBHash = {
    Layout::kClassic,
    Hash::kLevelDB,
    "classic-leveldb",
    0,
    kMaxProbes,
    sizeof(uint32_t),
    nullptr,
    Classic<LevelDBHash>::HashKey,
    PlanLevelDBHash,
    Grow,
    Build,
    Classic<LevelDBHash>::Parse,
    Classic<LevelDBHash>::MayMatchHash,
    Describe,
};

}  // namespace deltabloom::internal
