// The lookups of compact for any machine: one pair of functions for any number
// of columns.
#include <algorithm>

#include "util/coding.h"
#include "util/key_batch.h"
#include "util/layouts/compact/compact.h"

namespace deltabloom::internal::compact {
namespace {

// Bit 0: column j contradicts the fingerprint.
inline uint64_t Differs(const Query& query, const unsigned char* second,
                        unsigned j) {
  const uint64_t rows = (LoadFixed64(query.first + j * 8) & query.low) ^
                        (LoadFixed64(second + j * 8) & query.high);
  return static_cast<uint64_t>(__builtin_parityll(rows)) ^
         query.fingerprint >> j;
}

// Nearly all absent keys end at the first four columns.
inline bool Holds(const Query& query, unsigned columns) {
  const unsigned char* second = query.Second(columns);
  uint64_t differs = 0;
  unsigned j = 0;
  for (; j + 4 < columns; j += 4) {
    differs = Differs(query, second, j) | Differs(query, second, j + 1) |
              Differs(query, second, j + 2) | Differs(query, second, j + 3);
    if ((differs & 1) != 0) return false;
  }
  for (; j + 1 < columns; ++j) differs |= Differs(query, second, j);
  differs |= Differs(query, second, j) & (query.narrow ^ 1);
  return (differs & 1) == 0;
}

inline Query QueryOf(const ParsedFilter& parsed, unsigned columns,
                     uint64_t hash) {
  Located located;
  if (!LocateQuickly(parsed, hash, &located)) located = Locate(parsed, hash);
  return MakeQuery(parsed, columns, located);
}

bool MayMatch(const ParsedFilter& parsed, std::string_view key) {
  return MayMatchHash(parsed, Hash64(key));
}

void MayMatchMany(const ParsedFilter& parsed, KeyBatch keys, size_t n,
                  bool* may_match) {
  const unsigned columns = parsed.shape.As<Shape>().columns;
  Query queries[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      queries[i] = QueryOf(parsed, columns, Hash64(keys[begin + i]));
      queries[i].Fetch(columns);
    }
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] = Holds(queries[i], columns);
    }
  }
}

constexpr Kernels MakeKernels() {
  Kernels kernels{};
  for (Lookup& lookup : kernels.lookup) lookup = {MayMatch, MayMatchMany};
  return kernels;
}

constexpr Kernels kKernels = MakeKernels();

}  // namespace

Located Locate(const ParsedFilter& parsed, uint64_t hash) {
  const Shape& shape = parsed.shape.As<Shape>();
  const unsigned char* thresholds = parsed.payload + shape.thresholds_at;
  uint64_t first_row = 0;
  uint64_t first_bucket = 0;
  for (unsigned i = 0;; ++i) {
    const uint64_t layer_hash = LayerHash(hash, shape.seed, i);
    const uint64_t start = StartOf(layer_hash, shape.starts(i));
    if (i + 1u == shape.layers || !IsBumped(thresholds, first_bucket, start)) {
      return {first_row + start, EquationOf(layer_hash)};
    }
    first_row += shape.starts(i);
    first_bucket += shape.buckets(i);
  }
}

bool MayMatchHash(const ParsedFilter& parsed, uint64_t hash) {
  const unsigned columns = parsed.shape.As<Shape>().columns;
  return Holds(QueryOf(parsed, columns, hash), columns);
}

const Kernels& Portable() { return kKernels; }

}  // namespace deltabloom::internal::compact
