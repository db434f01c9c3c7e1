#include "shared_filters/redis/scheme.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "deltabloom/sizing.h"
#include "shared_filters/offsets.h"
#include "util/false_positive.h"
#include "util/hash64.h"
#include "util/local_kernels.h"

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
  const uint64_t block = ScaleHash(hash, blocks);
  const auto turn = static_cast<uint32_t>(hash >> 32) % kLocalSectors;
  for (uint32_t probe = 0; probe < probes; ++probe) {
    const uint32_t sector = (probe + kLocalSectors - turn) % kLocalSectors;
    const uint32_t product =
        static_cast<uint32_t>(hash) * kLocalMultipliers[sector];
    const uint32_t word = sector + kLocalSectors * (product >> 26 & 1);
    offsets[probe] = kBlockBits * block + 32 * word + (product >> 27);
  }
}

// Java's (int) of a double that is not negative.
uint64_t JavaInt(double value) {
  if (!(value < static_cast<double>(kMaxJavaInt))) return kMaxJavaInt;
  return static_cast<uint64_t>(value);
}

// The fewest bits per key of a local filter at this rate with `probes`, or
// infinity.
double LocalBitsPerKey(double rate, uint32_t probes) {
  double low = 0.5, high = 64;
  const auto rate_at = [&](double bits_per_key) {
    return LocalRate(kBlockBits / bits_per_key, probes);
  };
  if (rate_at(high) > rate) return std::numeric_limits<double>::infinity();
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (rate_at(middle) > rate ? low : high) = middle;
  }
  return high;
}

bool SizeLocal(uint64_t keys, double rate, Scheme* scheme) {
  double best = std::numeric_limits<double>::infinity();
  for (uint32_t probes = 1; probes <= kMaxBlockProbes; ++probes) {
    const double bits_per_key = LocalBitsPerKey(rate, probes);
    if (bits_per_key < best) {
      best = bits_per_key;
      scheme->probes = probes;
    }
  }
  const double blocks =
      std::ceil(static_cast<double>(keys) * best / double{kBlockBits});
  if (!(blocks * kBlockBits <= static_cast<double>(kMaxLocalBits))) {
    return false;
  }
  scheme->bits = static_cast<uint64_t>(std::max(blocks, 1.0)) * kBlockBits;
  return true;
}

bool SizeGo(uint64_t keys, double rate, uint32_t fixed_probes, Scheme* scheme) {
  const auto n = static_cast<double>(std::max<uint64_t>(keys, 1));
  if (fixed_probes == 0) {
    const BloomSize size = SizeForRate(keys, rate);
    scheme->probes = size.probes;
  } else {
    scheme->probes = fixed_probes;
  }
  const double bits = std::ceil(BloomBits(n, rate, scheme->probes));
  if (!(bits <= static_cast<double>(kMaxRedisOffset))) return false;
  scheme->bits = std::max<uint64_t>(static_cast<uint64_t>(bits), 64);
  return true;
}

// Guava's formulas, with the sizes of an int.
bool SizeGuava(uint64_t keys, double rate, Scheme* scheme) {
  const auto n = static_cast<double>(std::max<uint64_t>(keys, 1));
  const double ln2 = std::log(2.0);
  scheme->bits = JavaInt(-n * std::log(rate) / (ln2 * ln2));
  const double probes =
      std::floor(static_cast<double>(scheme->bits) / n * ln2 + 0.5);
  scheme->probes =
      static_cast<uint32_t>(std::clamp(probes, 1.0, double{kMaxProbes} + 1));
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

std::string SchemeNames() {
  std::string names;
  for (const Named& one : kSchemes) {
    if (!names.empty()) names += ", ";
    names += one.name;
  }
  return names;
}

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
      if (doubled_string) {
        twice.reserve(2 * key.size());
        twice += key;
        twice += key;
        key = twice;
      }
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

std::string Scheme::Validate() const {
  const auto bad_bits = [this](const std::string& legal) {
    return "bits is " + std::to_string(bits) + ": with scheme " + Name() +
           " it must be " + legal;
  };
  const uint32_t most = is_local() ? kMaxBlockProbes : kMaxProbes;
  if (probes == 0 || probes > most) {
    return "probes is " + std::to_string(probes) + ": with scheme " + Name() +
           " it must be 1 to " + std::to_string(most);
  }
  switch (kind) {
    case SchemeKind::kLocal:
      if (bits == 0 || bits % kBlockBits != 0 || bits > kMaxLocalBits) {
        return bad_bits("a multiple of 512 from 512 to 2^48");
      }
      break;
    case SchemeKind::kGoMurmur3:
      if (bits == 0 || bits > kMaxRedisOffset) return bad_bits("1 to 2^32 - 1");
      break;
    case SchemeKind::kGuavaHelper:
      if (bits == 0 || bits > kMaxJavaInt) return bad_bits("1 to 2^31 - 1");
      break;
    case SchemeKind::kPhpNamedHashes:
      if (bits != kPhpBits) return bad_bits("2^32, or 0 for the same");
      break;
  }
  return "";
}

double LocalRate(double keys_per_block, uint32_t probes) {
  // Terms beyond 12 standard deviations add nothing.
  const double spread = 12 * std::sqrt(keys_per_block) + 12;
  const double first = std::max(0.0, std::floor(keys_per_block - spread));
  const double last = std::ceil(keys_per_block + spread);
  const double clear_by_one =
      std::log1p(-static_cast<double>(probes) / kBlockBits);
  double rate = 0;
  for (double i = first; i <= last; ++i) {
    const double chance = std::exp(i * std::log(keys_per_block) -
                                   keys_per_block - std::lgamma(i + 1));
    const double clear = std::exp(i * clear_by_one) * (1 - 1.0 / kBlockBits);
    rate += chance * std::pow(1 - clear, probes);
  }
  return rate;
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
  const double blocks = static_cast<double>(scheme.bits) / kBlockBits;
  return LocalRate(KeysOfOccupancy(scheme, occupancy) / blocks + 1e-12,
                   scheme.probes);
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
