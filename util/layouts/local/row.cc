// The row of local: planning, building and parsing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/cpu.h"
#include "util/hash64.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"
#include "util/layouts/local/local.h"
#include "util/parsed_filter.h"

namespace deltabloom::internal::local {
namespace {

// Sizes stay within a signed 64-bit number.
constexpr uint64_t kMaxBlocks = uint64_t{1} << 56;

struct MarkerRow {
  uint32_t millibits_from;
  uint8_t marker;
};

// The markers that are written, as docs/format.md prints them.
// docs/local_rates.py simulates which are best.
constexpr MarkerRow kMarkers[] = {
    {0, 33},      // 1 probe
    {2100, 34},   // 2
    {3600, 35},   // 3
    {5100, 36},   // 4
    {6700, 37},   // 5
    {8400, 38},   // 6
    {10300, 39},  // 7
    {12000, 48},  // 4 + 4, in two blocks
    {12500, 49},  // 5 + 4
    {14200, 50},  // 5 + 5
    {16000, 51},  // 6 + 5
    {18500, 52},  // 6 + 6
    {20500, 53},  // 7 + 6
    {22500, 54},  // 7 + 7
    {25000, 55},  // 8 + 7
    {27500, 56},  // 8 + 8
};

// Returns the marker of the last row that begins at or below `millibits`.
uint8_t MarkerFor(uint32_t millibits) {
  uint8_t marker = 0;
  for (const MarkerRow& row : kMarkers) {
    if (row.millibits_from <= millibits) marker = row.marker;
  }
  return marker;
}

// ceil(keys * millibits / 512000), at least 1 and at most kMaxBlocks.
uint64_t BlocksFor(uint64_t keys, uint32_t millibits) {
  constexpr uint64_t kMillibitsPerBlock = kBlockSize * 8 * 1000;
  const uint64_t whole = keys / kMillibitsPerBlock;
  uint64_t blocks;
  if (__builtin_mul_overflow(whole, uint64_t{millibits}, &blocks)) {
    return kMaxBlocks;
  }
  const uint64_t rest = keys % kMillibitsPerBlock * millibits;
  blocks += rest / kMillibitsPerBlock + (rest % kMillibitsPerBlock != 0);
  return std::clamp<uint64_t>(blocks, 1, kMaxBlocks);
}

void SetSize(uint64_t blocks, uint8_t marker, Plan* plan) {
  plan->payload_size = blocks * kBlockSize;
  plan->last_byte = marker;
  Shape shape{};
  ShapeOf(marker, plan->payload_size, &shape);
  plan->shape.Set(shape);
}

bool MakePlan(uint32_t millibits_per_key, Plan* plan) {
  SetSize(BlocksFor(plan->keys, millibits_per_key),
          MarkerFor(millibits_per_key), plan);
  return true;
}

void Grow(Plan* plan, uint64_t payload_limit) {
  const uint64_t blocks = std::min(payload_limit / kBlockSize, kMaxBlocks);
  if (blocks > plan->shape.As<Shape>().blocks) {
    SetSize(blocks, plan->last_byte, plan);
  }
}

const Kernels& KernelsOf([[maybe_unused]] Cpu cpu) {
#if defined(__x86_64__)
  if (cpu >= Cpu::kAvx2) return Avx2();
#elif defined(DELTABLOOM_HAS_NEON)
  if (cpu == Cpu::kNeon) return Neon();
#endif
  return Portable();
}

bool Build(HashList* hashes, bool, const Plan& plan, Cpu cpu,
           unsigned char* payload) {
  const auto set_bits = KernelsOf(cpu).set_bits;
  const Shape& shape = plan.shape.As<Shape>();
  hashes->ForEachChunk<uint64_t>([&](const uint64_t* chunk, size_t n) {
    set_bits(chunk, n, shape, payload);
  });
  return true;
}

bool Parse(uint8_t last_byte, Cpu cpu, ParsedFilter* parsed) {
  Shape shape;
  if (!ShapeOf(last_byte, parsed->payload_size, &shape)) return false;
  parsed->shape.Set(shape);
  SetLookup(KernelsOf(cpu).lookup[shape.second == 0 ? 0 : 1], parsed);
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  std::string probes = std::to_string(shape.first);
  if (shape.second != 0) probes += " + " + std::to_string(shape.second);
  return "local, " + probes + " probes, " + std::to_string(shape.blocks) +
         " blocks of 64 bytes";
}

}  // namespace

const LayoutRow kRow = {Layout::kLocal,
                        Hash::kMurmurHash2,
                        "local",
                        /*first_marker=*/kOneBlock + 1,
                        /*last_marker=*/kTwoBlocks + kMaxProbes,
                        /*hash_size=*/8,
                        /*many_keys=*/0,
                        /*fallback=*/nullptr,
                        [](std::string_view key) { return Hash64(key); },
                        MakePlan,
                        Grow,
                        Build,
                        Parse,
                        MayMatchHash,
                        Rate,
                        EstimateContent,
                        Describe};

bool ShapeOf(uint8_t marker, uint64_t payload_size, Shape* shape) {
  if (payload_size == 0 || payload_size % kBlockSize != 0) return false;
  shape->blocks = payload_size / kBlockSize;
  if (marker <= kTwoBlocks) {
    shape->first = marker - uint32_t{kOneBlock};
    shape->second = 0;
    return true;
  }
  const uint32_t probes = marker - uint32_t{kTwoBlocks};
  if (probes < kSectors) return false;
  shape->first = (probes + 1) / 2;
  shape->second = probes / 2;
  return true;
}

}  // namespace deltabloom::internal::local
