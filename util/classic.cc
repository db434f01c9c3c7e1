#include "util/classic.h"

#include <algorithm>

#include "util/classic_kernels.h"
#include "util/classic_size.h"
#include "util/hash.h"

namespace deltabloom::internal {
namespace {

constexpr uint64_t kMinBits = 64;

// Positions are 32-bit hashes modulo the number of bits, so bits from here on
// would never be set.
constexpr uint64_t kMaxUsefulBits = uint64_t{1} << 32;

const ClassicKernels& Kernels(Hash hash, [[maybe_unused]] CpuLevel level) {
#if defined(__x86_64__)
  if (level == CpuLevel::kAvx512) return ClassicAvx512(hash);
  if (level == CpuLevel::kAvx2) return ClassicAvx2(hash);
#endif
  return ClassicPortable(hash);
}

template <uint32_t (*kHash)(const char* data, size_t size, uint32_t seed)>
uint64_t HashKey(std::string_view key) {
  return kHash(key.data(), key.size(), kBloomHashSeed);
}

template <Hash kHash>
bool Parse(uint8_t last_byte, CpuLevel level, ParsedFilter* parsed) {
  if (last_byte > kMaxClassicProbes || parsed->payload_size == 0) return false;
  const uint64_t bits = parsed->payload_size * 8;
  const Modulo modulo = MakeModulo(bits);
  parsed->geometry[kClassicBits] = bits;
  parsed->geometry[kClassicProbes] = last_byte;
  parsed->geometry[kClassicDivisor] = modulo.divisor;
  parsed->geometry[kClassicInverse] = modulo.inverse;
  if (last_byte == 0) {
    SetAlwaysMatch(parsed);
    return true;
  }
  const ClassicKernels& kernels = Kernels(kHash, level);
  parsed->may_match = kernels.may_match[last_byte];
  parsed->may_match_many = kernels.may_match_many[last_byte];
  return true;
}

bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  const Modulo modulo = ClassicModulo(parsed);
  auto position_hash = static_cast<uint32_t>(hash);
  const uint32_t delta = ClassicDelta(position_hash);
  for (uint64_t i = 0; i < parsed.geometry[kClassicProbes]; ++i) {
    const uint32_t position = Remainder(position_hash, modulo);
    if ((parsed.payload[position / 8] >> (position % 8) & 1) == 0) return false;
    position_hash += delta;
  }
  return true;
}

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
  plan.parameter = static_cast<uint32_t>(std::clamp<uint64_t>(
      uint64_t{millibits} * 69 / 100000, 1, kMaxClassicProbes));
  plan.last_byte = static_cast<uint8_t>(plan.parameter);
  return plan;
}

Plan PlanMurmurHash2(uint64_t keys, uint32_t millibits) {
  Plan plan = PlanWithin(keys, millibits, kMaxUsefulBits);
  plan.payload_size =
      std::min(GoodClassicSizeFrom(plan.payload_size), kMaxUsefulBits / 8);
  return plan;
}

// As LevelDB, which knows no upper end.
Plan PlanLevelDBHash(uint64_t keys, uint32_t millibits) {
  return PlanWithin(keys, millibits, ~uint64_t{0});
}

void Grow(Plan* plan, uint64_t payload_limit) {
  plan->payload_size = std::max(
      plan->payload_size,
      GoodClassicSizeUpTo(std::min(payload_limit, kMaxUsefulBits / 8)));
}

bool Build(HashList* hashes, bool, const Plan& plan, CpuLevel level,
           unsigned char* payload) {
  const Modulo modulo = MakeModulo(plan.payload_size * 8);
  // Setting bits is the same for both hashes.
  const auto set_bits = Kernels(Hash::kMurmurHash2, level).set_bits;
  hashes->ForEachChunk<uint32_t>([&](const uint32_t* chunk, size_t n) {
    set_bits(chunk, n, modulo, plan.parameter, payload);
  });
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  return "classic, " + std::to_string(parsed.geometry[kClassicProbes]) +
         " probes, " + std::to_string(parsed.geometry[kClassicBits]) + " bits";
}

}  // namespace

const LayoutRow kClassicMurmurHash2 = {
    Layout::kClassic,
    Hash::kMurmurHash2,
    "classic",
    0,
    kMaxClassicProbes,
    sizeof(uint32_t),
    nullptr,
    HashKey<MurmurHash2>,
    PlanMurmurHash2,
    Grow,
    Build,
    Parse<Hash::kMurmurHash2>,
    MayMatchHash,
    Describe,
};

const LayoutRow kClassicLevelDBHash = {
    Layout::kClassic,
    Hash::kLevelDB,
    "classic-leveldb",
    0,
    kMaxClassicProbes,
    sizeof(uint32_t),
    nullptr,
    HashKey<LevelDBHash>,
    PlanLevelDBHash,
    Grow,
    Build,
    Parse<Hash::kLevelDB>,
    MayMatchHash,
    Describe,
};

}  // namespace deltabloom::internal
