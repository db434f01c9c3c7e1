#include "tools/deltabloom/database/read_file.h"

#include <cstdint>
#include <memory>
#include <string>

#include "tools/sst/sst.h"

namespace deltabloom::tools {

std::string ReadFile(const std::string& path, uint64_t most,
                     std::string* bytes) {
  std::string error;
  const auto source = internal::OpenSstFile(path, &error);
  if (source == nullptr) return error;
  if (source->Size() > most) {
    return path + ": expected at most " + std::to_string(most) +
           " bytes, found " + std::to_string(source->Size());
  }
  bytes->resize(source->Size());
  return source->Read(0, bytes->size(), bytes->data());
}

}  // namespace deltabloom::tools
