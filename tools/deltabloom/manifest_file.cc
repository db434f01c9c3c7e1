#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tools/deltabloom/manifest.h"

namespace deltabloom::tools {
namespace {

namespace fs = std::filesystem;

// "MANIFEST-000005" of the file CURRENT; else empty.
std::string CurrentManifest(const fs::path& database) {
  std::ifstream file(database / "CURRENT", std::ios::binary);
  std::string name;
  std::getline(file, name);
  constexpr std::string_view kStart = "MANIFEST-";
  const bool good = name.compare(0, kStart.size(), kStart) == 0 &&
                    name.find('/') == std::string::npos &&
                    name.find('\0') == std::string::npos;
  return good ? name : std::string();
}

}  // namespace

std::string ReadManifest(const std::string& database, Manifest* manifest) {
  // A database that runs begins a new one now and then.
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    const std::string name = CurrentManifest(database);
    if (name.empty()) {
      return database + ": expected a file CURRENT that names a MANIFEST";
    }
    const fs::path path = fs::path(database) / name;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      if (i < kTries) continue;
      return path.string() + ": cannot be read: " + std::strerror(errno);
    }
    *manifest = Manifest();
    std::array<char, Manifest::kBlockSize> block;
    do {
      file.read(block.data(), block.size());
    } while (
        manifest->Add({block.data(), static_cast<size_t>(file.gcount())}) &&
        file);
    if (manifest->error().empty()) return {};
    return path.string() + ": " + manifest->error();
  }
}

}  // namespace deltabloom::tools
