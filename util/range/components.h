// The components of a key.
#pragma once

#include <cstddef>
#include <vector>

#include "util/range/prefix_counts.h"
#include "util/range/sampled_keys.h"

namespace deltabloom::internal::range {

// Returns the places behind the components of the key at which other keys have
// other components, ascending.
//
// A key is text up to its first byte that is no printable character, which
// belongs to it. A component of text ends after each byte that is neither
// letter nor digit, and with the text. Behind the text a component ends with
// the last of several bytes in a row at which keys part; and within these where
// keys have at most half as many prefixes as there, as where random bytes
// follow an id.
std::vector<size_t> EndsOfComponents(const SampledKey& sampled,
                                     const PrefixCounts& prefixes);

}  // namespace deltabloom::internal::range
