#include "util/local.h"

#include <algorithm>

#include "util/local_kernels.h"

namespace deltabloom::internal {
namespace {

// Last bytes: 32 + probes in one block, 40 + probes in two.
constexpr uint8_t kOneBlock = 32;
constexpr uint8_t kTwoBlocks = 40;
constexpr uint8_t kFirstMarker = kOneBlock + 1;
constexpr uint8_t kLastMarker = kTwoBlocks + kMaxLocalProbes;

// Sizes stay within what a signed 64-bit number can say.
constexpr uint64_t kMaxBlocks = uint64_t{1} << 56;

// docs/local_rates.py simulates what is best.
struct Choice {
  uint32_t from_millibits;
  uint8_t marker;
};
constexpr Choice kChoices[] = {
    {0, kOneBlock + 1},       {2100, kOneBlock + 2},
    {3600, kOneBlock + 3},    {5100, kOneBlock + 4},
    {6700, kOneBlock + 5},    {8400, kOneBlock + 6},
    {10300, kOneBlock + 7},   {12000, kTwoBlocks + 8},
    {12500, kTwoBlocks + 9},  {14200, kTwoBlocks + 10},
    {16000, kTwoBlocks + 11}, {18500, kTwoBlocks + 12},
    {20500, kTwoBlocks + 13}, {22500, kTwoBlocks + 14},
    {25000, kTwoBlocks + 15}, {27500, kTwoBlocks + 16},
};

uint8_t Marker(uint32_t millibits) {
  uint8_t marker = kFirstMarker;
  for (const Choice& choice : kChoices) {
    if (millibits >= choice.from_millibits) marker = choice.marker;
  }
  return marker;
}

bool ShapeOf(uint8_t marker, uint64_t payload_size, LocalShape* shape) {
  if (payload_size == 0 || payload_size % kLocalBlockSize != 0) return false;
  shape->blocks = payload_size / kLocalBlockSize;
  if (marker <= kTwoBlocks) {
    shape->first = marker - uint32_t{kOneBlock};
    shape->second = 0;
    return true;
  }
  const uint32_t probes = marker - uint32_t{kTwoBlocks};
  if (probes < kLocalSectors) return false;
  shape->first = (probes + 1) / 2;
  shape->second = probes / 2;
  return true;
}

const LocalKernels& Kernels([[maybe_unused]] CpuLevel level) {
#if defined(__x86_64__)
  if (level == CpuLevel::kAvx512) return LocalAvx512();
  if (level == CpuLevel::kAvx2) return LocalAvx2();
#endif
  return LocalPortable();
}

uint64_t HashKey(std::string_view key) { return Hash64(key); }

// ceil(keys * millibits / 512000), at least 1 and at most kMaxBlocks.
uint64_t BlocksFor(uint64_t keys, uint32_t millibits) {
  constexpr uint64_t kMillibitsPerBlock = kLocalBlockSize * 8 * 1000;
  const uint64_t whole = keys / kMillibitsPerBlock;
  uint64_t blocks;
  if (__builtin_mul_overflow(whole, uint64_t{millibits}, &blocks)) {
    return kMaxBlocks;
  }
  const uint64_t rest = keys % kMillibitsPerBlock * millibits;
  blocks += rest / kMillibitsPerBlock + (rest % kMillibitsPerBlock != 0);
  return std::clamp<uint64_t>(blocks, 1, kMaxBlocks);
}

Plan MakePlan(uint64_t keys, uint32_t millibits) {
  Plan plan;
  plan.keys = keys;
  plan.payload_size = BlocksFor(keys, millibits) * kLocalBlockSize;
  plan.last_byte = Marker(millibits);
  plan.parameter = plan.last_byte;
  return plan;
}

void Grow(Plan* plan, uint64_t payload_limit) {
  const uint64_t blocks = std::min(payload_limit / kLocalBlockSize, kMaxBlocks);
  plan->payload_size = std::max(plan->payload_size, blocks * kLocalBlockSize);
}

bool Build(HashList* hashes, bool, const Plan& plan, CpuLevel level,
           unsigned char* payload) {
  LocalShape shape;
  if (!ShapeOf(plan.last_byte, plan.payload_size, &shape)) return false;
  const auto set_bits = Kernels(level).set_bits;
  hashes->ForEachChunk<uint64_t>([&](const uint64_t* chunk, size_t n) {
    set_bits(chunk, n, shape, payload);
  });
  return true;
}

bool Parse(uint8_t last_byte, CpuLevel level, ParsedFilter* parsed) {
  LocalShape shape;
  if (!ShapeOf(last_byte, parsed->payload_size, &shape)) return false;
  parsed->geometry[kLocalBlocks] = shape.blocks;
  parsed->geometry[kLocalFirst] = shape.first;
  parsed->geometry[kLocalSecond] = shape.second;
  const LocalKernels& kernels = Kernels(level);
  const size_t rounds = shape.second == 0 ? 0 : 1;
  parsed->may_match = kernels.may_match[rounds];
  parsed->may_match_many = kernels.may_match_many[rounds];
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  const uint64_t second = parsed.geometry[kLocalSecond];
  std::string probes = std::to_string(parsed.geometry[kLocalFirst]);
  if (second != 0) probes += " + " + std::to_string(second);
  return "local, " + probes + " probes, " +
         std::to_string(parsed.geometry[kLocalBlocks]) + " blocks of 64 bytes";
}

}  // namespace

const LayoutRow kLocal = {
    Layout::kLocal,
    Hash::kMurmurHash2,
    "local",
    kFirstMarker,
    kLastMarker,
    sizeof(uint64_t),
    nullptr,
    HashKey,
    MakePlan,
    Grow,
    Build,
    Parse,
    LocalMayMatchHash,
    Describe,
};

}  // namespace deltabloom::internal
