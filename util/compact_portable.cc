// The lookups of the layout compact for any CPU: one pair of functions for any
// number of columns.
#include <algorithm>

#include "util/compact_terms.h"
#include "util/key_refs.h"

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

// Nearly all absent keys end at the first four columns.
inline bool Holds(const CompactTerms& terms, unsigned columns) {
  const unsigned char* second = terms.Second(columns);
  uint64_t differs = 0;
  unsigned j = 0;
  for (; j + 4 < columns; j += 4) {
    differs = Differs(terms, second, j) | Differs(terms, second, j + 1) |
              Differs(terms, second, j + 2) | Differs(terms, second, j + 3);
    if ((differs & 1) != 0) return false;
  }
  for (; j + 1 < columns; ++j) differs |= Differs(terms, second, j);
  differs |= Differs(terms, second, j) & (terms.narrow ^ 1);
  return (differs & 1) == 0;
}

inline CompactTerms TermsOfKey(const ParsedFilter& parsed, unsigned columns,
                               std::string_view key) {
  const uint64_t hash = Hash64(key);
  CompactProbe probe;
  if (!LocatePlainCompact(parsed, hash, &probe)) {
    probe = LocateCompact(parsed, hash);
  }
  return TermsOf(parsed, columns, probe);
}

bool MayMatch(const ParsedFilter& parsed, std::string_view key) {
  const unsigned columns = CompactColumns(parsed);
  return Holds(TermsOfKey(parsed, columns, key), columns);
}

void MayMatchMany(const ParsedFilter& parsed, KeyRefs keys, size_t n,
                  bool* may_match) {
  const unsigned columns = CompactColumns(parsed);
  CompactTerms terms[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      terms[i] = TermsOfKey(parsed, columns, keys[begin + i]);
      terms[i].Fetch(columns);
    }
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] = Holds(terms[i], columns);
    }
  }
}

}  // namespace

const CompactLookup& CompactPortable() {
  static constexpr CompactLookup kLookup = {MayMatch, MayMatchMany};
  return kLookup;
}

}  // namespace deltabloom::internal
