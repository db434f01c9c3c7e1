// Whole files that are small: CURRENT, OPTIONS.
#pragma once

#include <cstdint>
#include <string>

namespace deltabloom::tools {

// Reads a regular file of at most `most` bytes. Returns what is wrong, in one
// line that starts with the path, or nothing.
std::string ReadFile(const std::string& path, uint64_t most,
                     std::string* bytes);

}  // namespace deltabloom::tools
