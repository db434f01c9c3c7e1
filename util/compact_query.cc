#include "util/compact_query.h"

namespace deltabloom::internal {
namespace {

const CompactLookup& LookupOf(CpuLevel level, unsigned columns) {
#if defined(__x86_64__)
  if (level >= CpuLevel::kAvx512) return CompactAvx512()[columns - 1];
  if (level >= CpuLevel::kAvx2) return CompactAvx2()[columns - 1];
#endif
  static_cast<void>(level);
  static_cast<void>(columns);
  return CompactPortable();
}

}  // namespace

void SetCompactLookup(const CompactGeometry& geometry, CpuLevel level,
                      ParsedFilter* parsed) {
  parsed->geometry[kCompactStarts] = geometry.layer[0].starts;
  parsed->geometry[kCompactNarrow] = geometry.narrow;
  parsed->geometry[kCompactThresholdsAt] = geometry.thresholds_at;
  const uint64_t stream = CompactStream(geometry.seed, 0);
  parsed->geometry[kCompactPlain] = geometry.layers > 1 && stream == 0;
  parsed->geometry[kCompactShape] =
      (stream * 4 + geometry.layers) * 64 + geometry.columns;
  const CompactLookup& lookup = LookupOf(level, geometry.columns);
  parsed->may_match = lookup.may_match;
  parsed->may_match_many = lookup.may_match_many;
}

CompactProbe LocateCompact(const ParsedFilter& parsed, uint64_t hash) {
  // Not the whole geometry: that takes divisions.
  const CompactSizes sizes = LoadCompactSizes(
      parsed.payload + parsed.payload_size - kCompactSizesBytes);
  const unsigned layers = CompactLayers(parsed);
  const uint64_t stream = CompactFirstStream(parsed);
  uint64_t first_block = 0;
  uint64_t first_bucket = 0;
  for (unsigned i = 0;; ++i) {
    const uint64_t layer_hash = CompactLayerHash(hash, stream + i);
    const uint64_t start = ScaleHash(layer_hash, sizes.blocks[i] * kBlockRows);
    if (i + 1 == layers ||
        !CompactBumped(parsed.payload + parsed.geometry[kCompactThresholdsAt],
                       first_bucket, start)) {
      return {first_block * kBlockRows + start, EquationOf(layer_hash)};
    }
    first_block += sizes.blocks[i];
    first_bucket += (sizes.blocks[i] + 1) / 2;
  }
}

// Bit by bit, for callers that have hashes but are in no hurry.
bool CompactMayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  const CompactGeometry geometry = CompactGeometryOf(parsed);
  const CompactProbe probe = LocateCompact(parsed, hash);
  const uint64_t block = probe.row / kBlockRows;
  const unsigned shift = probe.row % kBlockRows;
  const uint64_t low = probe.equation.coefficients << shift;
  const uint64_t high = probe.equation.coefficients >> 1 >> (63 - shift);
  const auto word = [&](uint64_t of_block, unsigned column) {
    return LoadFixed64(parsed.payload +
                       (geometry.FirstWord(of_block) + column) * 8);
  };
  for (unsigned j = 0; j < geometry.Width(block); ++j) {
    const uint64_t rows = (word(block, j) & low) ^ (word(block + 1, j) & high);
    const auto parity = static_cast<uint32_t>(__builtin_parityll(rows));
    if (parity != (probe.equation.fingerprint >> j & 1)) return false;
  }
  return true;
}

CompactGeometry CompactGeometryOf(const ParsedFilter& parsed) {
  CompactGeometry geometry;
  MakeCompactGeometry(LoadCompactSizes(parsed.payload + parsed.payload_size -
                                       kCompactSizesBytes),
                      parsed.payload_size, &geometry);
  return geometry;
}

}  // namespace deltabloom::internal
