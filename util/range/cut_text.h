// Cuts as text, as in RangeFilterOptions::range_prefixes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/range/cut.h"

namespace deltabloom::internal::range {

inline constexpr char kCutsSyntax[] =
    "up to 16 prefixes, separated by commas: lengths in bytes (8) or bits "
    "(20b), at most 1024 bytes, or delimiters by how often they occur ('/'x3, "
    "or by their byte 0x2fx3), which can be followed by a length ('/'x3+8)";

// False, and *cuts undefined, if the text is not valid; kCutsSyntax says what
// is.
bool ParseCuts(std::string_view text, std::vector<Cut>* cuts);

std::string TextOf(const Cut& cut);

}  // namespace deltabloom::internal::range
