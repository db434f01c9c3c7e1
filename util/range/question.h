// The question that a scan asks of range filters of one declaration: is one of
// these prefixes there? docs/format.md, "Which prefixes", has the rule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "util/range/key_range.h"
#include "util/range/places.h"

namespace deltabloom::internal::range {

struct Question {
  // A range that spans more windows is not asked for: 8 lookups take some 100
  // ns, and one of more prefixes is usually there.
  static constexpr size_t kMaxPrefixes = 8;

  std::array<uint64_t, kMaxPrefixes> hashes;
  size_t size = 0;  // 0: no declared place can be asked for
};

// Returns the question for the longest prefix that the keys of the range share,
// or for the windows that they may be in. Throws what Places::ForEach does.
Question QuestionOf(const KeyRange& range, const Places& places);

}  // namespace deltabloom::internal::range
