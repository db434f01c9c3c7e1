// How many distinct prefixes keys have at each depth.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/range/cut.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {

class PrefixCounts {
 public:
  // `parting`: at [b + 1] how many keys share exactly b bits, from the
  // beginning of their prefixes on, with the key before them; at [0] how many
  // share not even the beginning.
  explicit PrefixCounts(const std::vector<uint64_t>& parting);

  // The distinct prefixes of `bits` bits. Beyond the bits in which keys differ
  // there are as many as at the last of these.
  uint64_t At(size_t bits) const {
    return counts_[std::min(bits, counts_.size() - 1)];
  }

 private:
  std::vector<uint64_t> counts_;  // by bits
};

// Counts from the beginning of each key.
PrefixCounts CountPrefixes(const KeyStore& keys);

// Counts for each of these cuts from the place where its bits begin: the
// beginning of each key or a delimiter. The bits of the cuts are
// ignored.
std::vector<PrefixCounts> CountPrefixes(const KeyStore& keys,
                                        const std::vector<Cut>& cuts);

}  // namespace deltabloom::internal::range
