// Rows of classic: planning, building and parsing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom::internal::classic {
namespace {

constexpr uint64_t kMinBits = 64;

// Positions are 32-bit hashes modulo the number of bits, so bits from here on
// would never be set.
constexpr uint64_t kMaxUsefulBits = uint64_t{1} << 32;

// For floor(keys * millibits / 1000) bits within the limits.
uint64_t BytesFor(uint64_t keys, uint32_t millibits, uint64_t max_bits) {
  uint64_t bits;
  if (__builtin_mul_overflow(keys / 1000, uint64_t{millibits}, &bits) ||
      __builtin_add_overflow(bits, keys % 1000 * millibits / 1000, &bits)) {
    bits = max_bits;
  }
  bits = std::clamp(bits, kMinBits, max_bits);
  return bits / 8 + (bits % 8 != 0);
}

// With LevelDB's hash the plan is LevelDB's, which has no upper limit of bits.
template <Hash kHash>
bool MakePlan(uint32_t millibits, Plan* plan) {
  const bool leveldb = kHash == Hash::kLevelDB;
  uint64_t size =
      BytesFor(plan->keys, millibits, leveldb ? ~uint64_t{0} : kMaxUsefulBits);
  if (!leveldb) size = std::min(GoodSizeFrom(size), kMaxUsefulBits / 8);
  // 0.69 ~ ln 2 probes per bit minimise the false positives.
  const auto probes = static_cast<uint32_t>(uint64_t{millibits} * 69 / 100000);
  SetSize(size, std::clamp(probes, uint32_t{1}, kMaxProbes), plan);
  return true;
}

void Grow(Plan* plan, uint64_t payload_limit) {
  const uint64_t good =
      GoodSizeUpTo(std::min(payload_limit, kMaxUsefulBits / 8));
  if (good > plan->payload_size) {
    SetSize(good, plan->shape.As<Shape>().probes, plan);
  }
}

// 2^16 + 1, a prime. The third probe of a key falls on v * kPrime for one of
// three times 2^16 numbers v.
constexpr uint64_t kPrime = 65537;

// Sizes this near to a multiple of kPrime, an eighth of it, are not good.
constexpr uint64_t kTooNear = 1 << 13;

// The x with number * x = 1 modulo kPrime: number to the power of 2^16 - 1
// (Fermat). number is in 1 .. kPrime - 1.
uint64_t Inverse(uint64_t number) {
  uint64_t inverse = 1;
  for (int i = 0; i < 16; ++i, number = number * number % kPrime) {
    inverse = inverse * number % kPrime;
  }
  return inverse;
}

const Kernels& KernelsOf(Hash hash, [[maybe_unused]] Cpu cpu) {
#if defined(__x86_64__)
  if (cpu >= Cpu::kAvx2) return Avx2(hash);
#endif
  return Portable(hash);
}

bool Build(HashList* hashes, bool, const Plan& plan, Cpu cpu,
           unsigned char* payload) {
  // Setting bits is the same for both hashes.
  const auto set_bits = KernelsOf(Hash::kMurmurHash2, cpu).set_bits;
  const Shape& shape = plan.shape.As<Shape>();
  hashes->ForEachChunk<uint32_t>([&](const uint32_t* chunk, size_t n) {
    set_bits(chunk, n, shape, payload);
  });
  return true;
}

template <Hash kHash>
bool Parse(uint8_t last_byte, Cpu cpu, ParsedFilter* parsed) {
  if (last_byte > kMaxProbes || parsed->payload_size == 0) return false;
  parsed->shape.Set(MakeShape(parsed->payload_size, last_byte));
  if (last_byte == 0) {
    SetAlwaysMatch(parsed);
  } else {
    SetLookup(KernelsOf(kHash, cpu).lookup[last_byte], parsed);
  }
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  return "classic, " + std::to_string(shape.probes) + " probes, " +
         std::to_string(shape.bits) + " bits";
}

template <Hash kHash>
constexpr LayoutRow MakeRow(const char* name) {
  return {Layout::kClassic,
          kHash,
          name,
          /*first_marker=*/0,
          kMaxProbes,
          /*hash_size=*/4,
          /*many_keys=*/20'000'000,
          /*fallback=*/nullptr,
          [](std::string_view key) { return uint64_t{HashKey(kHash, key)}; },
          MakePlan<kHash>,
          Grow,
          Build,
          Parse<kHash>,
          [](const ParsedFilter& parsed, uint64_t hash) {
            return TestHash<0>(parsed, static_cast<uint32_t>(hash));
          },
          Rate,
          EstimateContent,
          Describe};
}

}  // namespace

const LayoutRow kMurmurHash2Row = MakeRow<Hash::kMurmurHash2>("classic");
const LayoutRow kLevelDBHashRow = MakeRow<Hash::kLevelDB>("classic-leveldb");

void SetSize(uint64_t payload_size, uint32_t probes, Plan* plan) {
  plan->payload_size = payload_size;
  plan->last_byte = static_cast<uint8_t>(probes);
  plan->shape.Set(MakeShape(payload_size, probes));
}

bool IsGoodSize(uint64_t bytes) {
  if (bytes < kSmallestAdjustedSize) return true;
  if (bytes % 3 == 0 || bytes % 5 == 0 || bytes % kPrime == 0) return false;
  const uint64_t x = Inverse(bytes % kPrime * 8 % kPrime);
  for (uint64_t d = 1; d <= 3; ++d) {
    const uint64_t multiple = d * x % kPrime;
    if (multiple < kTooNear || kPrime - multiple < kTooNear) return false;
  }
  return true;
}

uint64_t GoodSizeFrom(uint64_t bytes) {
  while (!IsGoodSize(bytes)) ++bytes;
  return bytes;
}

uint64_t GoodSizeUpTo(uint64_t bytes) {
  while (!IsGoodSize(bytes)) --bytes;
  return bytes;
}

}  // namespace deltabloom::internal::classic
