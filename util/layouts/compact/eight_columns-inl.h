// Holds<kColumns> for instructions that compare eight columns at a time.
//
// The including file defines DELTABLOOM_TARGET, as for kernels-inl.h, and in
// namespace deltabloom::internal::compact the function HoldsEight<kFrom,
// kThen>, which compares columns kFrom .. kFrom + 3 and kThen .. kThen + 3,
// without the last of them where `skip` is 1.
#pragma once

#include "util/layouts/compact/compact.h"

namespace deltabloom::internal::compact {
namespace {

// Fours overlap where the columns are no multiple of four.
template <unsigned kColumns, unsigned kFrom = 0>
DELTABLOOM_TARGET inline bool Holds(const Query& query) {
  if constexpr (kColumns <= 4) {
    return PortableHolds(query, kColumns);
  } else if constexpr (kColumns <= kFrom + 8) {
    constexpr unsigned kLast = kColumns - 4;
    constexpr unsigned kFirst = kFrom < kLast ? kFrom : kLast - 1;
    return HoldsEight<kFirst, kLast>(query, query.Second(kColumns),
                                     query.narrow);
  } else {
    return HoldsEight<kFrom, kFrom + 4>(query, query.Second(kColumns), 0) &&
           Holds<kColumns, kFrom + 8>(query);
  }
}

}  // namespace
}  // namespace deltabloom::internal::compact
