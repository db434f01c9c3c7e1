// The lookups of the layout compact over the comparison of a level.
//
// The including file defines DELTABLOOM_TARGET, the function attribute of its
// level, and in namespace deltabloom::internal the function Holds<kColumns>.
// No lambdas: they would not inherit the attribute.
#ifndef DELTABLOOM_UTIL_COMPACT_LOOKUP_INL_H_
#define DELTABLOOM_UTIL_COMPACT_LOOKUP_INL_H_

#include <algorithm>
#include <utility>

#include "util/compact_query.h"

namespace deltabloom::internal {
namespace {

// Keys looked up together; RocksDB asks for at most this many.
constexpr size_t kBatch = 32;

// Flattened: the hash and all else that a lookup needs is part of it.
template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((flatten)) bool MayMatch(
    const ParsedFilter& parsed, std::string_view key) {
  return Holds<kColumns>(
      TermsOf(parsed, kColumns, LocateCompact(parsed, Hash64(key))));
}

template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((flatten)) void MayMatchMany(
    const ParsedFilter& parsed, const std::string_view* keys, size_t n,
    bool* may_match) {
  CompactTerms terms[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      terms[i] = TermsOf(parsed, kColumns,
                         LocateCompact(parsed, Hash64(keys[begin + i])));
      terms[i].Fetch(kColumns);
    }
    for (size_t i = 0; i < batch; ++i) {
      may_match[begin + i] = Holds<kColumns>(terms[i]);
    }
  }
}

template <size_t... kIndex>
const CompactLookups& MakeLookups(std::index_sequence<kIndex...>) {
  static constexpr CompactLookups kLookups = {
      {MayMatch<kIndex + 1>, MayMatchMany<kIndex + 1>}...};
  return kLookups;
}

const CompactLookups& Lookups() {
  return MakeLookups(std::make_index_sequence<kMaxCompactColumns>());
}

}  // namespace
}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_COMPACT_LOOKUP_INL_H_
