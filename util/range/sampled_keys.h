// Some keys of a table, and where all others part from them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "util/range/key_store.h"

namespace deltabloom::internal::range {

// A key, with all depths, in bits, at which other keys part from it.
struct SampledKey {
  std::string key;
  std::string next;                // the key behind it; empty: it is the last
  std::vector<unsigned> partings;  // ascending, distinct

  // Returns the most bits that a key shares with it which does not share the
  // first `bits` bits; -1 if all keys share these.
  int SharedBelow(size_t bits) const;
};

// Returns all keys of a table that has up to 127, and of others 64 to 127,
// spread evenly.
std::vector<SampledKey> SampleKeys(const KeyStore& keys);

}  // namespace deltabloom::internal::range
