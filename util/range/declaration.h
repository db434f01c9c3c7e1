// Declarations of places as text: "8,'/','/'x3+8,56b,groups_of_8@1".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/range/functions.h"
#include "util/range/place.h"

namespace deltabloom::internal::range {

inline constexpr char kDeclarationSyntax[] =
    "up to 16 places, separated by commas: a length in bytes (8) or bits "
    "(56b), a delimiter, after each of which a prefix ends ('/', or by its "
    "byte "
    "0x2f), its third one ('/'x3, up to x16), and a length behind that "
    "('/'x3+8, '/'x3+20b), of at most 1024 bytes; or a prefix function "
    "NAME@VERSION, also behind a length (4+groups_of_8@1)";

// Returns false, and *places is undefined, if the text is not valid:
// kDeclarationSyntax says what is; if it names a function that is not found,
// *unknown is its name.
bool ParseDeclaration(std::string_view text, FindFunction find,
                      std::vector<Place>* places, std::string_view* unknown);

// Returns the text, without bytes that separate options in OPTIONS files.
std::string TextOf(const Place& place);
std::string TextOf(const std::vector<Place>& places);

}  // namespace deltabloom::internal::range
