// The lookups of the layout compact for any CPU.
#include "util/compact_terms.h"

#define DELTABLOOM_TARGET

namespace deltabloom::internal {
namespace {

// Bit 0: column j contradicts the fingerprint.
inline uint64_t Differs(const CompactTerms& terms, const unsigned char* second,
                        unsigned j) {
  const uint64_t rows = (LoadFixed64(terms.first + j * 8) & terms.low) ^
                        (LoadFixed64(second + j * 8) & terms.high);
  return static_cast<uint64_t>(__builtin_parityll(rows)) ^
         terms.fingerprint >> j;
}

template <unsigned kColumns>
inline bool Holds(const CompactTerms& terms) {
  const unsigned char* second = terms.Second<kColumns>();
  uint64_t differs = 0;
#pragma GCC unroll 32
  for (unsigned j = 0; j + 1 < kColumns; ++j) {
    differs |= Differs(terms, second, j);
    // Nearly all absent keys end here.
    if (j % 4 == 3 && j + 2 < kColumns && (differs & 1) != 0) return false;
  }
  differs |= Differs(terms, second, kColumns - 1) & (terms.narrow ^ 1);
  return (differs & 1) == 0;
}

}  // namespace
}  // namespace deltabloom::internal

#include "util/compact_lookup-inl.h"

namespace deltabloom::internal {

const CompactLookups& CompactPortable() { return Lookups(); }

}  // namespace deltabloom::internal
