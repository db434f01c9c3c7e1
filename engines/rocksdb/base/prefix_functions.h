// The prefix functions of TheProcess().
#pragma once

#include <string>
#include <string_view>

#include "util/range/functions.h"

namespace deltabloom::internal {

// The function of "NAME@VERSION", or the one of "NAME" with the highest
// version; null if there is none.
const range::RegisteredFunction* FindPrefixFunction(std::string_view text);

}  // namespace deltabloom::internal
