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
#include "util/key_refs.h"

namespace deltabloom::internal {
namespace {

// Payloads up to this size are expected in the nearer caches, where fetching
// lines ahead of their use only takes time.
constexpr uint64_t kCachedCompactBytes = uint64_t{128} << 10;

// Apart, so that all other keys need no room for its registers.
template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((noinline)) bool MayMatchApart(
    const ParsedFilter& parsed, uint64_t hash) {
  return Holds<kColumns>(
      TermsOf(parsed, kColumns, LocateCompact(parsed, hash)));
}

template <unsigned kColumns>
DELTABLOOM_TARGET inline bool MayMatchHash(const ParsedFilter& parsed,
                                           uint64_t hash) {
  CompactProbe probe;
  if (__builtin_expect(!LocatePlainCompact(parsed, hash, &probe), 0)) {
    return MayMatchApart<kColumns>(parsed, hash);
  }
  return Holds<kColumns>(TermsOf(parsed, kColumns, probe));
}

// Flattened: the hash and all else that a lookup needs is part of it. Longer
// keys are apart, like those above.
template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((flatten, noinline)) bool MayMatchLonger(
    const ParsedFilter& parsed, std::string_view key) {
  return MayMatchHash<kColumns>(parsed, Hash64(key));
}

template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((flatten)) bool MayMatch(
    const ParsedFilter& parsed, std::string_view key) {
  if (!IsHash64Short(key.size())) return MayMatchLonger<kColumns>(parsed, key);
  return MayMatchHash<kColumns>(parsed, Hash64Short(key.data(), key.size()));
}

template <unsigned kColumns>
DELTABLOOM_TARGET __attribute__((flatten)) void MayMatchMany(
    const ParsedFilter& parsed, KeyRefs keys, size_t n, bool* may_match) {
  if (parsed.payload_size <= kCachedCompactBytes) {
    for (size_t i = 0; i < n; ++i) {
      may_match[i] = MayMatchHash<kColumns>(parsed, Hash64(keys[i]));
    }
    return;
  }
  CompactTerms terms[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      const uint64_t hash = Hash64(keys[begin + i]);
      CompactProbe probe;
      if (!LocatePlainCompact(parsed, hash, &probe)) {
        probe = LocateCompact(parsed, hash);
      }
      terms[i] = TermsOf(parsed, kColumns, probe);
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
