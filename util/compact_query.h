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
  kCompactPlain,         // 1: more layers than one, and the hash as it is
  kCompactShape          // (stream of the first layer * 4 + layers) * 64 +
                         // columns
};

inline unsigned CompactColumns(const ParsedFilter& parsed) {
  return parsed.geometry[kCompactShape] % 64;
}
inline unsigned CompactLayers(const ParsedFilter& parsed) {
  return parsed.geometry[kCompactShape] / 64 % 4;
}
inline uint64_t CompactFirstStream(const ParsedFilter& parsed) {
  return parsed.geometry[kCompactShape] / 256;
}

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

// The probe of any key.
CompactProbe LocateCompact(const ParsedFilter& parsed, uint64_t hash);

// The same where it takes little: *probe is that of nearly every key in nearly
// every filter. False for the others.
inline bool LocatePlainCompact(const ParsedFilter& parsed, uint64_t hash,
                               CompactProbe* probe) {
  if (__builtin_expect(parsed.geometry[kCompactPlain] == 0, 0)) return false;
  const uint64_t start = ScaleHash(hash, parsed.geometry[kCompactStarts]);
  *probe = {start, EquationOf(hash)};
  const bool bumped = CompactBumped(
      parsed.payload + parsed.geometry[kCompactThresholdsAt], 0, start);
  return __builtin_expect(!bumped, 1);
}

// The lookups of one CPU level for filters of 1, 2, 3, ... columns.
struct CompactLookup {
  bool (*may_match)(const ParsedFilter&, std::string_view);
  void (*may_match_many)(const ParsedFilter&, KeyRefs, size_t, bool*);
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
