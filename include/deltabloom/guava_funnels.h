// What the funnels of Guava (com.google.common.hash.Funnels) feed to the hash,
// as bytes: pass them to GuavaFilter, or to another filter that hashes as Guava
// does.
//
//   Funnels.byteArrayFunnel()             the bytes themselves
//   Funnels.stringFunnel(UTF_8)           the bytes of a UTF-8 string; of
//                                         UTF-16, GuavaStringFunnel
//   Funnels.unencodedCharsFunnel()        GuavaUnencodedCharsFunnel
//   Funnels.integerFunnel()               GuavaIntegerFunnel
//   Funnels.longFunnel()                  GuavaLongFunnel
#ifndef DELTABLOOM_GUAVA_FUNNELS_H_
#define DELTABLOOM_GUAVA_FUNNELS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/export.h"

namespace deltabloom {

// 4 bytes, little-endian.
DELTABLOOM_EXPORT std::string GuavaIntegerFunnel(int32_t value);

// 8 bytes, little-endian.
DELTABLOOM_EXPORT std::string GuavaLongFunnel(int64_t value);

// UTF-8 as Java encodes it: a surrogate without its partner becomes '?'.
DELTABLOOM_EXPORT std::string GuavaStringFunnel(std::u16string_view text);

// Each UTF-16 unit as 2 bytes, little-endian; surrogates as they are.
DELTABLOOM_EXPORT std::string GuavaUnencodedCharsFunnel(
    std::u16string_view text);

// UTF-16 as Java decodes it (new String(bytes, UTF_8)): each byte sequence that
// is not UTF-8 becomes U+FFFD, split as Java splits them. With it the text of a
// UTF-8 file goes through GuavaUnencodedCharsFunnel.
DELTABLOOM_EXPORT std::u16string JavaUtf16(std::string_view utf8);

}  // namespace deltabloom

#endif  // DELTABLOOM_GUAVA_FUNNELS_H_
