#include "tools/deltabloom/guava_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

namespace deltabloom::tools {
namespace {

constexpr size_t kHeader = 6;
constexpr size_t kWord = 8;

std::runtime_error SystemError(const std::string& path) {
  return std::runtime_error(path + ": " + std::strerror(errno));
}

bool WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// mkstemp makes files that nobody else may read.
void SetUsualMode(int descriptor) {
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
}

// The little-endian bytes of each word the other way round.
void AppendReversed(std::string_view bits, std::string* dst) {
  for (size_t at = 0; at < bits.size(); at += kWord) {
    for (size_t i = kWord; i > 0; --i) dst->push_back(bits[at + i - 1]);
  }
}

}  // namespace

std::string ReadWholeFile(const std::string& path) {
  errno = 0;
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof()) throw SystemError(path);
  if (path != "-" && !file.is_open()) throw SystemError(path);
  return bytes;
}

void WriteWholeFile(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    std::cout.flush();
    if (!WriteAll(STDOUT_FILENO, bytes)) throw SystemError("standard output");
    return;
  }
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) throw SystemError(path);
  SetUsualMode(descriptor);
  bool written = WriteAll(descriptor, bytes) && fsync(descriptor) == 0;
  int error = errno;
  if (close(descriptor) != 0 && written) {
    written = false;
    error = errno;
  }
  if (written && std::rename(temporary.c_str(), path.c_str()) != 0) {
    written = false;
    error = errno;
  }
  if (!written) {
    unlink(temporary.c_str());
    errno = error;
    throw SystemError(path);
  }
}

std::string GuavaBytes(std::string_view bits, uint32_t probes) {
  const size_t words = bits.size() / kWord;
  std::string bytes;
  bytes.reserve(kHeader + bits.size());
  bytes.push_back(static_cast<char>(GuavaStrategy::kMurmur128Mitz32));
  bytes.push_back(static_cast<char>(probes));
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(words >> shift & 0xff));
  }
  AppendReversed(bits, &bytes);
  return bytes;
}

std::string BitsOfGuava(std::string_view bytes) {
  std::string bits;
  bits.reserve(bytes.size() - kHeader);
  AppendReversed(bytes.substr(kHeader), &bits);
  return bits;
}

}  // namespace deltabloom::tools
