// Lookups in compact filters: what the kernels of all CPU levels share.
#ifndef DELTABLOOM_UTIL_COMPACT_QUERY_H_
#define DELTABLOOM_UTIL_COMPACT_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/compact_geometry.h"
#include "util/cpu_level.h"

namespace deltabloom::internal {

// Sets the lookup functions and what they need in parsed->geometry. The
// payload is one that `geometry` fits.
void SetCompactLookup(const CompactGeometry& geometry, CpuLevel level,
                      ParsedFilter* parsed);

bool CompactMayMatchHash(const ParsedFilter& parsed, uint64_t hash);

// The geometry of a filter for which SetCompactLookup was called.
CompactGeometry CompactGeometryOf(const ParsedFilter& parsed);

// The meaning of parsed.geometry.
enum CompactParsed : unsigned {
  kCompactStarts,        // of the first layer
  kCompactNarrow,        // blocks with one column less
  kCompactThresholdsAt,  // offset in bytes
  kCompactStream,        // of the first layer's hash
  kCompactLayersColumns  // layers * 256 + columns
};

// Where the equation of a key begins, and the equation.
struct CompactProbe {
  uint64_t row;
  CompactEquation equation;
};

// True if the key went to a later layer.
inline bool CompactBumped(const unsigned char* thresholds,
                          uint64_t first_bucket, uint64_t start) {
  const uint64_t bucket = first_bucket + start / kBucketStarts;
  const unsigned threshold =
      static_cast<unsigned>(thresholds[bucket / 4]) >> (bucket % 4 * 2) & 3;
  return start % kBucketStarts < kThresholds[threshold];
}

// The probe of a key that the first layer passed on: one in a hundred.
CompactProbe LocateBumpedCompact(const ParsedFilter& parsed, uint64_t hash);

inline CompactProbe LocateCompact(const ParsedFilter& parsed, uint64_t hash) {
  const uint64_t layer_hash =
      CompactLayerHash(hash, parsed.geometry[kCompactStream]);
  const uint64_t start = ScaleHash(layer_hash, parsed.geometry[kCompactStarts]);
  if (parsed.geometry[kCompactLayersColumns] >= 2 * 256 &&
      CompactBumped(parsed.payload + parsed.geometry[kCompactThresholdsAt], 0,
                    start)) {
    return LocateBumpedCompact(parsed, hash);
  }
  return {start, EquationOf(layer_hash)};
}

// The lookups of one CPU level for filters of 1, 2, 3, ... columns.
struct CompactLookup {
  bool (*may_match)(const ParsedFilter&, std::string_view);
  void (*may_match_many)(const ParsedFilter&, const std::string_view*, size_t,
                         bool*);
};
using CompactLookups = CompactLookup[kMaxCompactColumns];

// Any number of columns.
const CompactLookup& CompactPortable();
#if defined(__x86_64__)
const CompactLookups& CompactAvx2();
const CompactLookups& CompactAvx512();
#endif

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_QUERY_H_
