// Bytes of others in our output: paths, names of policies, keys.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_ESCAPE_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_ESCAPE_H_

#include <string>
#include <string_view>

namespace deltabloom::tools {

// The bytes as one line of UTF-8 that no terminal acts upon, and from which
// they can be told again: a backslash is written "\\", and as "\x" and two
// lower-case hexadecimal digits each byte of
//   - a control character (U+0000..U+001F, U+007F..U+009F),
//   - a character that ends lines or turns the direction of text (U+061C,
//     U+200E, U+200F, U+2028..U+202E, U+2066..U+2069) or has no width (U+200B,
//     U+FEFF),
//   - what is not UTF-8.
std::string Escaped(std::string_view bytes);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_ESCAPE_H_
