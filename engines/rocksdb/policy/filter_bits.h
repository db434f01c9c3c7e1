// How many bits per key a filter gets, once its keys are known.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_BITS_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_BITS_H_

#include <cstdint>

#include "util/layouts/layout.h"

namespace deltabloom::internal {

// As in RocksDBFilterOptions.
struct BitsAsked {
  uint32_t millibits_per_key;
  double false_positive_rate;  // if not 0, instead of them
  uint64_t max_filter_bytes;
};

struct FilterBits {
  uint32_t millibits_per_key;  // 0: no filter
  bool lowered;                // to fit max_filter_bytes
  bool rate_missed;            // the layout cannot have one as low
};

// For a filter of `keys` keys, 1 or more, and framing_size bytes around its
// payload.
FilterBits BitsFor(const BitsAsked& asked, const LayoutRow& layout,
                   uint64_t keys, uint64_t framing_size);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_FILTER_BITS_H_
