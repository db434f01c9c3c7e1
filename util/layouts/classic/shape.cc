#include "util/layouts/classic/shape.h"

#include <algorithm>

#include "util/layouts/classic/good_size.h"

namespace deltabloom::internal::classic {
namespace {

constexpr uint64_t kMinBits = 64;

// Positions are 32-bit hashes modulo the number of bits, so bits from here on
// would never be set.
constexpr uint64_t kMaxUsefulBits = uint64_t{1} << 32;

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

uint64_t BytesFor(uint64_t keys, uint32_t millibits, uint64_t max_bits) {
  const uint64_t bits =
      std::clamp(BitsFor(keys, millibits), kMinBits, max_bits);
  return bits / 8 + (bits % 8 != 0);
}

// 0.69 ~ ln 2 probes per bit minimise the false positives.
uint32_t ProbesFor(uint32_t millibits) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(uint64_t{millibits} * 69 / 100000, 1, kMaxProbes));
}

}  // namespace

void SetSize(uint64_t payload_size, uint32_t probes, Plan* plan) {
  plan->payload_size = payload_size;
  plan->last_byte = static_cast<uint8_t>(probes);
  plan->shape.Set(MakeShape(payload_size, probes));
}

bool PlanMurmurHash2(uint32_t millibits, Plan* plan) {
  const uint64_t bytes = BytesFor(plan->keys, millibits, kMaxUsefulBits);
  SetSize(std::min(GoodSizeFrom(bytes), kMaxUsefulBits / 8),
          ProbesFor(millibits), plan);
  return true;
}

// As LevelDB, which knows no upper end.
bool PlanLevelDBHash(uint32_t millibits, Plan* plan) {
  SetSize(BytesFor(plan->keys, millibits, ~uint64_t{0}), ProbesFor(millibits),
          plan);
  return true;
}

void Grow(Plan* plan, uint64_t payload_limit) {
  const uint64_t good =
      GoodSizeUpTo(std::min(payload_limit, kMaxUsefulBits / 8));
  if (good > plan->payload_size) {
    SetSize(good, plan->shape.As<Shape>().probes, plan);
  }
}

}  // namespace deltabloom::internal::classic
