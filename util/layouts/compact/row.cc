// The row of compact: planning, parsing and the rate.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash64.h"
#include "util/hash_list.h"
#include "util/json.h"
#include "util/layouts/compact/compact.h"
#include "util/layouts/layout.h"
#include "util/layouts/local/local.h"
#include "util/parsed_filter.h"
#include "util/rates/rates.h"

namespace deltabloom::internal::compact {
namespace {

constexpr uint64_t kMaxFirstBlocks = 0xffffffff;
constexpr uint64_t kMaxSecondBlocks = 0xffffff;

// The last layer of three has a power of two of blocks.
constexpr unsigned kMaxLastLayerLog2 = 14;

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

bool SetWords(uint64_t words, Shape* shape) {
  const uint64_t blocks = shape->blocks();
  if (words < blocks || words > blocks * kMaxColumns) return false;
  shape->columns = static_cast<uint8_t>(CeilDivide(words, blocks));
  shape->narrow = blocks * shape->columns - words;
  shape->thresholds_at = words * 8;
  return true;
}

// The most words of columns that a payload of at most this size has.
uint64_t WordsWithin(const Shape& shape, uint64_t payload_size) {
  const uint64_t fixed_bytes = shape.thresholds_bytes() + kSizesBytes;
  if (payload_size < fixed_bytes) return 0;
  return std::min((payload_size - fixed_bytes) / 8,
                  shape.blocks() * kMaxColumns);
}

void SetPlan(const Shape& shape, Plan* plan) {
  plan->payload_size = shape.payload_size();
  plan->last_byte = kMarker;
  plan->shape.Set(shape);
  SetBuildBytes(shape, plan);
}

bool MakePlan(uint32_t millibits_per_key, Plan* plan) {
  std::optional<Shape> shape = ShapeFor(plan->keys);
  if (!shape) return false;
  // The product fits into 64 bits: there are less than 2^39 keys.
  const uint64_t words =
      WordsWithin(*shape, plan->keys * millibits_per_key / 8000);
  // Three quarters of the bits per key have to become columns: with less, local
  // answers twice as fast and nearly as well.
  const uint32_t millibits = std::min(millibits_per_key, kMaxColumns * 1000);
  if (words * 4000 < 3 * shape->blocks() * millibits) return false;
  if (!SetWords(words, &*shape)) return false;
  SetPlan(*shape, plan);
  return true;
}

void Grow(Plan* plan, uint64_t payload_limit) {
  if (payload_limit <= plan->payload_size) return;
  Shape shape = plan->shape.As<Shape>();
  SetWords(WordsWithin(shape, payload_limit), &shape);
  SetPlan(shape, plan);
}

bool Build(HashList* hashes, bool keep_hashes, const Plan& plan, Cpu cpu,
           unsigned char* payload) {
  return BuildShape(hashes, keep_hashes, plan.shape.As<Shape>(), cpu, payload);
}

// The rate is 2^-c for a key that starts in a block of c columns. A key whose
// start is bumped goes to the next layer; about as many do as that layer has
// starts, so starts are spread over all blocks evenly. The narrow blocks come
// first; no key starts in the last block.
double Rate(const AnyShape& any_shape, uint64_t) {
  const Shape& shape = any_shape.As<Shape>();
  return RibbonRate(shape.columns, static_cast<double>(shape.narrow) /
                                       static_cast<double>(shape.blocks() - 1));
}

// The rate is exact for absent keys as random as hashes are. The keys are those
// for which a writer chooses this number of blocks, to within 32 keys: rows
// come in blocks of 64.
ContentEstimate EstimateContent(const ParsedFilter& parsed) {
  const auto blocks = static_cast<double>(parsed.shape.As<Shape>().blocks());
  // This is the inverse of ShapeFor() at the middle of the last block: rows =
  // 1.01 * keys + 14.
  constexpr double kSpareRows = 14;
  constexpr double kRowsPerKey = 1.01;
  const double rows = (blocks - 0.5) * kBlockRows;
  return {std::max(1.0, (rows - kSpareRows) / kRowsPerKey),
          Rate(parsed.shape, 0)};
}

const Kernels& KernelsOf([[maybe_unused]] Cpu cpu) {
#if defined(__x86_64__)
  if (cpu >= Cpu::kAvx512) return Avx512();
  if (cpu >= Cpu::kAvx2) return Avx2();
#elif defined(DELTABLOOM_HAS_NEON)
  if (cpu == Cpu::kNeon) return Neon();
#endif
  return Portable();
}

bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  const unsigned columns = parsed.shape.As<Shape>().columns;
  return KernelsOf(ActiveCpu()).may_match_hash[columns - 1](parsed, hash);
}

bool Parse(uint8_t, Cpu cpu, ParsedFilter* parsed) {
  if (parsed->payload_size < kSizesBytes) return false;
  std::optional<Shape> shape =
      LoadSizes(parsed->payload + parsed->payload_size - kSizesBytes);
  if (!shape || !SetPayloadSize(parsed->payload_size, &*shape)) return false;
  parsed->shape.Set(*shape);
  SetLookup(KernelsOf(cpu).lookup[shape->columns - 1], parsed);
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  const double columns =
      static_cast<double>(shape.words()) / static_cast<double>(shape.blocks());
  return "compact, " + NumberText(columns, 2) + " columns, " +
         std::to_string(shape.blocks() * kBlockRows) + " rows, " +
         std::to_string(shape.layers) + " layers";
}

}  // namespace

const LayoutRow kRow = {Layout::kCompact,
                        Hash::kMurmurHash2,
                        "compact",
                        kMarker,
                        kMarker,
                        /*hash_size=*/8,
                        /*many_keys=*/0,
                        /*fallback=*/&local::kRow,
                        [](std::string_view key) { return Hash64(key); },
                        MakePlan,
                        Grow,
                        Build,
                        Parse,
                        MayMatchHash,
                        Rate,
                        EstimateContent,
                        Describe};

void StoreSizes(const Shape& shape, unsigned char* to) {
  unsigned last = 0;  // 0 for none, else 1 + the logarithm
  while (last < 15 && shape.layer_blocks[2] >> last != 0) ++last;
  StoreFixed32(to, shape.layer_blocks[0]);
  StoreFixed32(to + 4, shape.layer_blocks[1] | uint32_t{last} << 24 |
                           uint32_t{shape.seed} << 28);
}

std::optional<Shape> LoadSizes(const unsigned char* from) {
  const uint32_t rest = LoadFixed32(from + 4);
  const unsigned last = rest >> 24 & 15;
  return ShapeOfBlocks({LoadFixed32(from), rest & kMaxSecondBlocks,
                        last == 0 ? 0 : uint64_t{1} << (last - 1)},
                       rest >> 28);
}

std::optional<Shape> ShapeOfBlocks(
    const std::array<uint64_t, kMaxLayers>& blocks, unsigned seed) {
  if (blocks[0] == 0 || (blocks[1] == 0 && blocks[2] != 0) ||
      blocks[0] > kMaxFirstBlocks || blocks[1] > kMaxSecondBlocks) {
    return std::nullopt;
  }
  Shape shape{};
  for (unsigned i = 0; i < kMaxLayers; ++i) {
    shape.layer_blocks[i] = static_cast<uint32_t>(blocks[i]);
    if (blocks[i] != 0) ++shape.layers;
  }
  SetSeed(seed, &shape);
  return shape;
}

std::optional<Shape> ShapeFor(uint64_t keys) {
  // No legal first layer has more keys, and no sum below overflows with fewer.
  if (keys / kBlockRows > kMaxFirstBlocks) return std::nullopt;
  const uint64_t rows = keys + keys / 100 + 14;
  const uint64_t blocks =
      std::max<uint64_t>(CeilDivide(rows, kBlockRows), 2) - 1;
  if (blocks <= 8) return ShapeOfBlocks({blocks, 0, 0});
  if (blocks < 40) return ShapeOfBlocks({blocks - 1, 1, 0});
  const uint64_t rest = 2 + blocks / 64;
  unsigned last_log2 = 0;
  while (last_log2 < kMaxLastLayerLog2 && (rest >> last_log2) > 32) ++last_log2;
  const uint64_t last = uint64_t{1} << last_log2;
  return ShapeOfBlocks({blocks - rest, rest - last, last});
}

bool SetPayloadSize(uint64_t payload_size, Shape* shape) {
  return SetWords(WordsWithin(*shape, payload_size), shape) &&
         shape->payload_size() == payload_size;
}

void SetSeed(unsigned seed, Shape* shape) {
  shape->seed = static_cast<uint8_t>(seed);
  shape->plain = seed == 0 && shape->layers > 1;
}

}  // namespace deltabloom::internal::compact
