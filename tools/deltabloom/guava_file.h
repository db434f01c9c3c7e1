// Files of Guava's BloomFilter (docs/shared_filters_format.md, chapter
// "Guava").
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_GUAVA_FILE_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_GUAVA_FILE_H_

#include <string>
#include <string_view>

#include "deltabloom/guava_filter.h"

namespace deltabloom::tools {

// Whole files. Each throws std::runtime_error with path and reason. Writing is
// all or nothing: a temporary file beside it, then a rename. "-" is standard
// output, or input.
std::string ReadWholeFile(const std::string& path);
void WriteWholeFile(const std::string& path, std::string_view bytes);

// Guava's bytes of strategy MURMUR128_MITZ_32 for bits in which bit p is bit p
// mod 8 of byte p / 8. REQUIRES: a multiple of 8 bytes, probes of 1..255.
std::string GuavaBytes(std::string_view bits, uint32_t probes);

// The reverse. REQUIRES: bytes that GuavaFilter::FromBytes takes.
std::string BitsOfGuava(std::string_view bytes);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_GUAVA_FILE_H_
