// The answer of a range filter.
#pragma once

#include <cstdint>

namespace deltabloom::internal::range {

enum class Answer : uint8_t {
  kNo,  // no key is in the range
  kMayMatch,
  kNoCut,  // may match: no cut can reject this range
};

}  // namespace deltabloom::internal::range
