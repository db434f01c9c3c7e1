#include "util/range/prefixes_option.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/range/declaration.h"
#include "util/range/functions.h"
#include "util/range/place.h"
#include "util/range/places.h"

namespace deltabloom::internal::range {

std::string ParsePrefixes(std::string_view text, FindFunction find,
                          PlacesToHold* places) {
  std::vector<Place> parsed;
  std::string_view unknown;
  places->automatic = text == kAutomatic;
  if (places->automatic) {
    for (const char byte :
         std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")) {
      Place place;
      place.kind = Place::Kind::kEach;
      place.byte = static_cast<uint8_t>(byte);
      parsed.push_back(place);
    }
  }
  if (places->automatic || ParseDeclaration(text, find, &parsed, &unknown)) {
    places->places = Places(std::move(parsed));
    return {};
  }
  const std::string value = "prefixes = " + std::string(text);
  if (!unknown.empty()) {
    return value + " is not valid: the function " + std::string(unknown) +
           " is not registered";
  }
  return value + " is not valid: use auto, or " + kDeclarationSyntax;
}

std::string PrefixesText(const PlacesToHold& places) {
  return places.automatic ? kAutomatic : TextOf(places.places.places());
}

}  // namespace deltabloom::internal::range
