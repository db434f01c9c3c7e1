// The option `prefixes`: a declaration, or "auto".
#pragma once

#include <string>
#include <string_view>

#include "util/range/functions.h"
#include "util/range/places.h"

namespace deltabloom::internal::range {

inline constexpr char kAutomatic[] = "auto";

// The places that are declared, or the candidates of which a filter holds those
// that nearly all keys have.
struct PlacesToHold {
  Places places;
  bool automatic = false;
};

// Returns an empty string, or the value and what is legal; *places is then
// undefined.
std::string ParsePrefixes(std::string_view text, FindFunction find,
                          PlacesToHold* places);

// Returns the text that ParsePrefixes reads, with the versions of functions.
std::string PrefixesText(const PlacesToHold& places);

}  // namespace deltabloom::internal::range
