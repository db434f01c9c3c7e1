// Files that are read and written as a whole.
#pragma once

#include <stdexcept>
#include <string>

#include "shared_filters/command/interrupt.h"

namespace deltabloom::tools {

// The path and the text of errno.
std::runtime_error SystemError(const std::string& path);

// The bytes of a file; "-" is standard input. Throws SystemError.
std::string ReadWholeFile(const std::string& path);

// Writes all of the bytes or nothing: into a temporary file beside `path`,
// which is renamed. A pipe, a device or a link stays what it is and is written
// to. "-" is standard output. Throws SystemError. Releases
// `interrupt` while it may wait for a reader.
void WriteWholeFile(const std::string& path, const std::string& bytes,
                    Interrupt* interrupt);

}  // namespace deltabloom::tools
