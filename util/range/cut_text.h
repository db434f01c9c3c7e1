// Cuts as text, in options and descriptions: "8,20b,'/'x3,0x00x2" are the first
// 8 bytes, the first 20 bits, up to the third slash, up to the second byte 0.
#ifndef DELTABLOOM_UTIL_RANGE_CUT_TEXT_H_
#define DELTABLOOM_UTIL_RANGE_CUT_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "util/range/prefixes.h"

namespace deltabloom::internal::range {

// False, and *cuts undefined, if the text is not valid; kCutsSyntax says what
// is. No text stands for no cuts.
bool ParseCuts(std::string_view text, std::vector<Cut>* cuts);

inline constexpr char kCutsSyntax[] =
    "up to 16 prefixes, separated by commas: lengths in bytes (8) or bits "
    "(20b), at most 128 bytes, or delimiters by how often they occur ('/'x3, "
    "or by their byte 0x2fx3)";

std::string TextOf(const Cut& cut);

}  // namespace deltabloom::internal::range

#endif  // DELTABLOOM_UTIL_RANGE_CUT_TEXT_H_
