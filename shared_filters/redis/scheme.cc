#include "shared_filters/redis/scheme.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "deltabloom/sizing.h"
#include "shared_filters/murmur3.h"
#include "shared_filters/smallest_number.h"
#include "util/hash64.h"
#include "util/layouts/local/local.h"
#include "util/rates/rates.h"

namespace deltabloom::internal {
namespace {

struct Named {
  std::string_view name;
  SchemeKind kind;
  uint32_t fixed_probes;
};
constexpr Named kSchemes[] = {
    {"local", SchemeKind::kLocal, 0},
    {"go-murmur3", SchemeKind::kGoMurmur3, 0},
    {"go-murmur3-14", SchemeKind::kGoMurmur3, kGoZeroProbes},
    {"guava-helper", SchemeKind::kGuavaHelper, 0},
    {"php-named-hashes", SchemeKind::kPhpNamedHashes, 0},
};

constexpr uint64_t kPhpBits = uint64_t{1} << 32;
constexpr uint64_t kMaxLocalBits = uint64_t{1} << 48;
constexpr uint64_t kMaxJavaInt = INT32_MAX;

// docs/format.md, "Local", the first round.
void LocalOffsets(std::string_view key, uint64_t blocks, uint32_t probes,
                  uint64_t* offsets) {
  const uint64_t hash = Hash64(key);
  const uint64_t first_bit = kBlockBits * local::BlockOf(hash, blocks);
  for (uint32_t probe = 0; probe < probes; ++probe) {
    offsets[probe] =
        first_bit + local::BitOf(hash, 0, local::SectorOf(hash, probe));
  }
}

double WithMarkers(double rate, uint32_t probes) {
  if (rate <= 0) return 0;
  const double share_set = std::pow(rate, 1.0 / probes);
  return rate * (1 + probes / double{kBlockBits} * (1 / share_set - 1));
}

bool SizeLocal(uint64_t keys, double rate, Scheme* scheme) {
  constexpr uint64_t kMaxBitsPerKey = 64;
  if (keys > kMaxLocalBits) return false;
  uint64_t fewest = std::min(kMaxLocalBits, keys * kMaxBitsPerKey) / kBlockBits;
  fewest += 2;
  bool found = false;
  for (uint32_t probes = 1; probes <= kMaxBlockProbes; ++probes) {
    const local::RateOfProbes rate_at({probes, 0});
    const uint64_t blocks = SmallestNumber(1, fewest - 1, [&](uint64_t n) {
      return WithMarkers(rate_at(keys, n), probes) <= rate;
    });
    if (blocks == 0) continue;
    fewest = blocks;
    scheme->probes = probes;
    found = true;
  }
  scheme->bits = fewest * kBlockBits;
  return found;
}

bool SizeGo(uint64_t keys, double rate, uint32_t fixed_probes, Scheme* scheme) {
  const auto n = static_cast<double>(std::max<uint64_t>(keys, 1));
  scheme->probes =
      fixed_probes != 0 ? fixed_probes : SizeForRate(keys, rate).probes;
  const double bits = std::ceil(BloomBits(n, rate, scheme->probes));
  if (!(bits <= static_cast<double>(kMaxRedisOffset))) return false;
  scheme->bits = std::max<uint64_t>(static_cast<uint64_t>(bits), 64);
  return true;
}

// Guava's formulas, with the sizes of an int.
bool SizeGuava(uint64_t keys, double rate, Scheme* scheme) {
  scheme->bits = std::min(GuavaBits(keys, rate), kMaxJavaInt);
  GuavaFilterOptions options;
  options.expected_insertions = keys;
  scheme->probes = GuavaHashFunctions(options, scheme->bits);
  return scheme->bits > 0 && scheme->probes <= kMaxProbes;
}

}  // namespace

bool FindScheme(std::string_view name, SchemeKind* kind,
                uint32_t* fixed_probes) {
  for (const Named& one : kSchemes) {
    if (one.name != name) continue;
    *kind = one.kind;
    *fixed_probes = one.fixed_probes;
    return true;
  }
  return false;
}

std::string SchemeNames() { return NamesOf(kSchemes); }

std::string Scheme::Name() const {
  for (const Named& one : kSchemes) {
    if (one.kind == kind && one.fixed_probes == 0) return std::string(one.name);
  }
  return "";
}

void Scheme::Offsets(std::string_view key, uint64_t* offsets) const {
  switch (kind) {
    case SchemeKind::kLocal:
      LocalOffsets(key, bits / kBlockBits, probes, offsets);
      return;
    case SchemeKind::kGoMurmur3: {
      const Murmur3 hash(key);
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = GoMurmur3Offset(hash, static_cast<uint8_t>(i), bits);
      }
      return;
    }
    case SchemeKind::kGuavaHelper: {
      std::string twice;
      if (doubled_string) key = twice.append(key).append(key);
      const Murmur3Hash hash = HashMurmur3(key);
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = GuavaMitz32Offset(hash, i, bits);
      }
      return;
    }
    case SchemeKind::kPhpNamedHashes:
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = hash_functions[i](key);
      }
      return;
  }
}

std::string Scheme::Validate() {
  hash_functions.clear();
  for (const std::string& hash : hashes) {
    hash_functions.push_back(FindPhpHash(hash));
    if (hash_functions.back() == nullptr) {
      return "hashes has '" + hash + "': known are " + PhpHashNames();
    }
  }
  struct Limits {
    uint64_t least, most, multiple_of;
    const char* text;
  };
  constexpr Limits kLimits[] = {
      {kBlockBits, kMaxLocalBits, kBlockBits,
       "a multiple of 512 from 512 to 2^48"},
      {1, kMaxRedisOffset, 1, "1 to 2^32 - 1"},
      {1, kMaxJavaInt, 1, "1 to 2^31 - 1"},
      {kPhpBits, kPhpBits, 1, "2^32, or 0 for the same"},
  };
  const Limits& limits = kLimits[static_cast<size_t>(kind)];
  const uint32_t most = is_local() ? kMaxBlockProbes : kMaxProbes;
  if (probes == 0 || probes > most) {
    return "probes is " + std::to_string(probes) + ": with scheme " + Name() +
           " it must be 1 to " + std::to_string(most);
  }
  if (bits < limits.least || bits > limits.most ||
      bits % limits.multiple_of != 0) {
    return "bits is " + std::to_string(bits) + ": with scheme " + Name() +
           " it must be " + limits.text;
  }
  if (kind == SchemeKind::kPhpNamedHashes && hashes.size() != probes) {
    return "hashes and probes do not fit";
  }
  return "";
}

double RedisLocalRate(uint64_t keys, uint64_t blocks, uint32_t probes) {
  return WithMarkers(local::RateOfProbes({probes, 0})(keys, blocks), probes);
}

bool SizeScheme(uint64_t keys, double rate, uint32_t fixed_probes,
                Scheme* scheme) {
  switch (scheme->kind) {
    case SchemeKind::kLocal:
      return SizeLocal(keys, rate, scheme);
    case SchemeKind::kGoMurmur3:
      return SizeGo(keys, rate, fixed_probes, scheme);
    case SchemeKind::kGuavaHelper:
      return SizeGuava(keys, rate, scheme);
    case SchemeKind::kPhpNamedHashes:
      scheme->bits = kPhpBits;
      return true;
  }
  return false;
}

double RateOfOccupancy(const Scheme& scheme, double occupancy) {
  if (!scheme.is_local()) return std::pow(occupancy, scheme.probes);
  if (occupancy >= 1) return 1;
  const double keys = KeysOfOccupancy(scheme, occupancy);
  return RedisLocalRate(static_cast<uint64_t>(std::llround(keys)),
                        scheme.bits / kBlockBits, scheme.probes);
}

double KeysOfOccupancy(const Scheme& scheme, double occupancy) {
  const auto m = static_cast<double>(scheme.bits);
  if (occupancy >= 1) return std::numeric_limits<double>::infinity();
  if (!scheme.is_local()) {
    return KeysFromSetBits(m, occupancy * m, scheme.probes);
  }
  // A clear bit is e^(-load * probes / 512) likely, over Poisson loads.
  return -std::log1p(-occupancy) * m / scheme.probes;
}

}  // namespace deltabloom::internal
