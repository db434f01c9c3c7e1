// Writing range filters of the shape "prefixes".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "util/range/choice.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {

// AppendPrefixes allocates at most this much per key if all keys have prefixes
// of their own: the hashes of one cut, and what building its filter takes.
// Measured, with 4 to 24 bits per prefix: 24 to 26 bytes with 10,000 keys, and
// 17 to 20 with 100,000 or a million.
inline constexpr uint64_t kPrefixesBytesPerKey = 26;

// Returns the size of a body without its cuts.
size_t BytesBeforeCuts(const KeyStore& keys);

// Returns the bytes in the body for a cut of this many distinct prefixes.
uint64_t BytesOfCut(uint64_t prefixes, unsigned bits);

void AppendPrefixes(const KeyStore& keys, const Choice& choice,
                    std::string* dst);

}  // namespace deltabloom::internal::range
