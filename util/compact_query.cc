#include "util/compact_query.h"

#include "util/compact_kernels.h"

namespace deltabloom::internal {
namespace {

// parsed.geometry
enum : unsigned { kStarts, kNarrow, kThresholdsAt, kStream, kLayersColumns };

// Batches are worked through this many keys at a time.
constexpr size_t kBatch = 32;

// Where the equation of a key begins, and the equation.
struct Probe {
  uint64_t row;
  CompactEquation equation;
};

// True if the key went to a later layer.
DELTABLOOM_ALWAYS_INLINE bool Bumped(const unsigned char* thresholds,
                                     uint64_t first_bucket, uint64_t start) {
  constexpr uint32_t kPacked =
      kThresholds[1] << 8 | kThresholds[2] << 16 | kThresholds[3] << 24;
  const uint64_t bucket = first_bucket + start / kBucketStarts;
  const unsigned threshold = thresholds[bucket / 4] >> (bucket % 4 * 2) & 3;
  return start % kBucketStarts < (kPacked >> (threshold * 8) & 0xff);
}

// The probe of a key that the first layer passed on.
__attribute__((noinline)) Probe LocateBumped(const ParsedFilter& parsed,
                                             uint64_t hash) {
  const CompactGeometry geometry = CompactGeometryOf(parsed);
  for (unsigned i = 1;; ++i) {
    const CompactLayer& layer = geometry.layer[i];
    const uint64_t layer_hash = CompactLayerHash(hash, geometry.seed, i);
    const uint64_t start = ScaleHash(layer_hash, layer.starts);
    if (i + 1 == geometry.layers ||
        !Bumped(parsed.payload + geometry.thresholds_at, layer.first_bucket,
                start)) {
      return {layer.first_row + start, EquationOf(layer_hash)};
    }
  }
}

DELTABLOOM_ALWAYS_INLINE Probe Locate(const ParsedFilter& parsed,
                                      uint64_t hash) {
  const uint64_t stream = parsed.geometry[kStream];
  const uint64_t layer_hash = stream == 0 ? hash : Remix64(hash, stream);
  const uint64_t start = ScaleHash(layer_hash, parsed.geometry[kStarts]);
  if (parsed.geometry[kLayersColumns] >= 2 << 8 &&
      __builtin_expect(
          Bumped(parsed.payload + parsed.geometry[kThresholdsAt], 0, start),
          0)) {
    return LocateBumped(parsed, hash);
  }
  return {start, EquationOf(layer_hash)};
}

// The words of the two blocks in which a key's rows lie.
struct Words {
  const unsigned char* first;
  const unsigned char* second;
  bool narrow;  // the first has one column less
};

DELTABLOOM_ALWAYS_INLINE Words WordsOf(const ParsedFilter& parsed,
                                       unsigned columns, uint64_t row) {
  const uint64_t narrow = parsed.geometry[kNarrow];
  const uint64_t block = row / kBlockRows;
  const uint64_t first = block * columns - std::min(block, narrow);
  const uint64_t second = (block + 1) * columns - std::min(block + 1, narrow);
  return {parsed.payload + first * 8, parsed.payload + second * 8,
          block < narrow};
}

// Bit 0: column j contradicts the fingerprint.
DELTABLOOM_ALWAYS_INLINE uint64_t Differs(const Words& words, uint64_t low,
                                          uint64_t high, uint32_t fingerprint,
                                          unsigned j) {
  return Parity((LoadFixed64(words.first + j * 8) & low) ^
                (LoadFixed64(words.second + j * 8) & high)) ^
         (fingerprint >> j);
}

// A narrow block is read one column too far: into the block behind it, which
// is there, as the last block is wide.
DELTABLOOM_ALWAYS_INLINE bool Holds(const ParsedFilter& parsed,
                                    unsigned columns, const Probe& probe) {
  const Words words = WordsOf(parsed, columns, probe.row);
  const unsigned shift = probe.row % kBlockRows;
  const uint64_t low = probe.equation.coefficients << shift;
  const uint64_t high = probe.equation.coefficients >> 1 >> (63 - shift);
  const uint32_t fingerprint = probe.equation.fingerprint;
  uint64_t differs = 0;
  for (unsigned j = 0; j + 1 < columns; ++j) {
    differs |= Differs(words, low, high, fingerprint, j);
    // Most absent keys end here.
    if (j == 3 && columns > 6 && (differs & 1) != 0) return false;
  }
  const uint64_t last = Differs(words, low, high, fingerprint, columns - 1);
  differs |= words.narrow ? 0 : last;
  return (differs & 1) == 0;
}

DELTABLOOM_ALWAYS_INLINE void Prefetch(const ParsedFilter& parsed,
                                       unsigned columns, uint64_t row) {
  const Words words = WordsOf(parsed, columns, row);
  __builtin_prefetch(words.first);
  if (columns > 4) __builtin_prefetch(words.first + 64);
  __builtin_prefetch(words.second + columns * 8 - 1);
}

DELTABLOOM_ALWAYS_INLINE bool MayMatch(const ParsedFilter& parsed,
                                       unsigned columns, std::string_view key) {
  return Holds(parsed, columns, Locate(parsed, Hash64(key)));
}

DELTABLOOM_ALWAYS_INLINE void MayMatchMany(const ParsedFilter& parsed,
                                           unsigned columns,
                                           const std::string_view* keys,
                                           size_t n, bool* may_match) {
  Probe probes[kBatch];
  for (size_t from = 0; from < n; from += kBatch) {
    const size_t batch = std::min(kBatch, n - from);
    for (size_t i = 0; i < batch; ++i) {
      probes[i] = Locate(parsed, Hash64(keys[from + i]));
      Prefetch(parsed, columns, probes[i].row);
    }
    for (size_t i = 0; i < batch; ++i) {
      may_match[from + i] = Holds(parsed, columns, probes[i]);
    }
  }
}

template <unsigned kColumns>
struct Portable {
  static bool Single(const ParsedFilter& parsed, std::string_view key) {
    return MayMatch(parsed, kColumns, key);
  }
  static void Many(const ParsedFilter& parsed, const std::string_view* keys,
                   size_t n, bool* may_match) {
    MayMatchMany(parsed, kColumns, keys, n, may_match);
  }
};

#if defined(__x86_64__)
template <unsigned kColumns>
struct Avx2 {
  DELTABLOOM_TARGET_AVX2 static bool Single(const ParsedFilter& parsed,
                                            std::string_view key) {
    return MayMatch(parsed, kColumns, key);
  }
  DELTABLOOM_TARGET_AVX2 static void Many(const ParsedFilter& parsed,
                                          const std::string_view* keys,
                                          size_t n, bool* may_match) {
    MayMatchMany(parsed, kColumns, keys, n, may_match);
  }
};
#endif

struct Lookup {
  bool (*single)(const ParsedFilter&, std::string_view);
  void (*many)(const ParsedFilter&, const std::string_view*, size_t, bool*);
};

template <template <unsigned> class Kernel, size_t... kColumns>
Lookup Choose(unsigned columns, std::index_sequence<kColumns...>) {
  static constexpr Lookup kLookups[] = {
      {Kernel<kColumns + 1>::Single, Kernel<kColumns + 1>::Many}...};
  return kLookups[columns - 1];
}

}  // namespace

void SetCompactLookup(const CompactGeometry& geometry, CpuLevel level,
                      ParsedFilter* parsed) {
  parsed->geometry[kStarts] = geometry.layer[0].starts;
  parsed->geometry[kNarrow] = geometry.narrow;
  parsed->geometry[kThresholdsAt] = geometry.thresholds_at;
  parsed->geometry[kStream] = geometry.seed * 4;
  parsed->geometry[kLayersColumns] = geometry.layers << 8 | geometry.columns;
  const auto all = std::make_index_sequence<kMaxCompactColumns>();
  Lookup lookup = Choose<Portable>(geometry.columns, all);
#if defined(__x86_64__)
  if (level >= CpuLevel::kAvx2) lookup = Choose<Avx2>(geometry.columns, all);
#endif
  parsed->may_match = lookup.single;
  parsed->may_match_many = lookup.many;
}

bool CompactMayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  const unsigned columns = parsed.geometry[kLayersColumns] & 0xff;
  return Holds(parsed, columns, Locate(parsed, hash));
}

CompactGeometry CompactGeometryOf(const ParsedFilter& parsed) {
  CompactGeometry geometry;
  MakeCompactGeometry(LoadCompactSizes(parsed.payload + parsed.payload_size -
                                       kCompactSizesBytes),
                      parsed.payload_size, &geometry);
  return geometry;
}

}  // namespace deltabloom::internal
