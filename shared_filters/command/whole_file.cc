#include "shared_filters/command/whole_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "shared_filters/command/interrupt.h"

namespace deltabloom::tools {

std::runtime_error SystemError(const std::string& path) {
  return std::runtime_error(path + ": " + std::strerror(errno));
}

std::string ReadWholeFile(const std::string& path) {
  errno = 0;
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << (path == "-" ? std::cin : file).rdbuf();
  if (!bytes && errno != 0) throw SystemError(path);  // else it is empty
  return bytes.str();
}

void WriteWholeFile(const std::string& path, const std::string& bytes,
                    Interrupt* interrupt) {
  errno = 0;
  if (path == "-") {
    interrupt->Release();
    if (std::cout << bytes << std::flush) return;
    throw SystemError("standard output");
  }
  struct stat state = {};
  const bool in_place =
      stat(path.c_str(), &state) == 0 && !S_ISREG(state.st_mode);
  // If the path is a link, its target is replaced.
  std::error_code ignored;
  const std::string target =
      std::filesystem::weakly_canonical(path, ignored).string();
  const std::string to =
      in_place ? path : target + "." + std::to_string(getpid());
  if (in_place) interrupt->Release();
  errno = 0;
  std::FILE* const file = std::fopen(to.c_str(), in_place ? "wb" : "wbx");
  // One that a killed process left is in the way under its own name.
  if (file == nullptr) throw SystemError(errno == EEXIST ? to : path);
  bool written =
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
      std::fflush(file) == 0 && (in_place || fsync(fileno(file)) == 0);
  written = std::fclose(file) == 0 && written;
  if (written && in_place) return;
  if (written && std::rename(to.c_str(), target.c_str()) == 0) return;
  const std::runtime_error error = SystemError(path);
  if (!in_place) unlink(to.c_str());
  throw error;
}

}  // namespace deltabloom::tools
