// The lookups of compact for any machine.
#include <cstdint>

#include "util/layouts/compact/compact.h"

#define DELTABLOOM_TARGET
#define DELTABLOOM_KERNELS Portable

namespace deltabloom::internal::compact {
namespace {

template <unsigned kColumns>
inline bool Holds(const Query& query) {
  return PortableHolds(query, kColumns);
}

}  // namespace
}  // namespace deltabloom::internal::compact

#include "util/layouts/compact/kernels-inl.h"

namespace deltabloom::internal::compact {

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

}  // namespace deltabloom::internal::compact
