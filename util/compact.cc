#include "util/compact.h"

#include <algorithm>
#include <cstdio>

#include "util/compact_build.h"
#include "util/compact_geometry.h"
#include "util/compact_query.h"
#include "util/hash64.h"
#include "util/local.h"

namespace deltabloom::internal {
namespace {

const LayoutRow& Fallback() { return kLocal; }

uint64_t HashKey(std::string_view key) { return Hash64(key); }

// Words of columns within payload_size bytes.
uint64_t WordsWithin(const CompactSizes& sizes, uint64_t payload_size) {
  const uint64_t fixed_bytes = CompactFixedBytes(sizes);
  if (payload_size < fixed_bytes) return 0;
  return std::min((payload_size - fixed_bytes) / 8,
                  CompactBlocks(sizes) * kMaxCompactColumns);
}

// Three quarters of the bits per key have to become columns: with less, local
// answers twice as fast and nearly as well.
bool Pays(uint64_t words, uint64_t blocks, uint32_t millibits) {
  constexpr uint32_t kMostMillibits = kMaxCompactColumns * 1000;
  return words >= blocks &&
         words * 4000 >=
             uint64_t{3} * blocks * std::min(millibits, kMostMillibits);
}

void SetWords(const CompactSizes& sizes, uint64_t words, Plan* plan) {
  plan->payload_size = words * 8 + CompactFixedBytes(sizes);
  CompactGeometry geometry;
  MakeCompactGeometry(sizes, plan->payload_size, &geometry);
  plan->parameter = geometry.columns;
  SetCompactBuildBytes(geometry, plan);
}

// Plan::parameter is the number of columns, or 0 where the fallback is to be
// built; the plan then has its size.
Plan MakePlan(uint64_t keys, uint32_t millibits) {
  Plan plan;
  plan.keys = keys;
  plan.last_byte = kCompactMarker;
  const CompactSizes sizes = CompactSizesFor(keys);
  if (sizes.blocks[0] != 0) {
    // Fits: there are less than 2^39 keys.
    const uint64_t words = WordsWithin(sizes, keys * millibits / 8000);
    if (Pays(words, CompactBlocks(sizes), millibits)) {
      SetWords(sizes, words, &plan);
      return plan;
    }
  }
  const Plan fallback = Fallback().plan(keys, millibits);
  plan.payload_size = fallback.payload_size;
  plan.build_bytes = fallback.build_bytes;
  plan.late_build_bytes = fallback.late_build_bytes;
  return plan;
}

void Grow(Plan* plan, uint64_t payload_limit) {
  if (plan->parameter == 0) {
    Fallback().grow(plan, payload_limit);
    return;
  }
  if (payload_limit <= plan->payload_size) return;
  const CompactSizes sizes = CompactSizesFor(plan->keys);
  SetWords(sizes, WordsWithin(sizes, payload_limit), plan);
}

bool Build(HashList* hashes, bool keep_hashes, const Plan& plan, CpuLevel level,
           unsigned char* payload) {
  return plan.parameter != 0 &&
         BuildCompact(hashes, keep_hashes, CompactSizesFor(plan.keys),
                      plan.payload_size, level, payload);
}

bool Parse(uint8_t last_byte, CpuLevel level, ParsedFilter* parsed) {
  if (last_byte != kCompactMarker ||
      parsed->payload_size < kCompactSizesBytes) {
    return false;
  }
  CompactGeometry geometry;
  if (!MakeCompactGeometry(
          LoadCompactSizes(parsed->payload + parsed->payload_size -
                           kCompactSizesBytes),
          parsed->payload_size, &geometry)) {
    return false;
  }
  SetCompactLookup(geometry, level, parsed);
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  const CompactGeometry geometry = CompactGeometryOf(parsed);
  char columns[32];
  std::snprintf(columns, sizeof(columns), "%.2f",
                static_cast<double>(geometry.words) /
                    static_cast<double>(geometry.blocks));
  return std::string("compact, ") + columns + " columns, " +
         std::to_string(geometry.blocks * kBlockRows) + " rows, " +
         std::to_string(geometry.layers) + " layers";
}

}  // namespace

const LayoutRow kCompact = {
    Layout::kCompact,
    Hash::kMurmurHash2,
    "compact",
    kCompactMarker,
    kCompactMarker,
    sizeof(uint64_t),
    &kLocal,
    HashKey,
    MakePlan,
    Grow,
    Build,
    Parse,
    CompactMayMatchHash,
    Describe,
};

}  // namespace deltabloom::internal
