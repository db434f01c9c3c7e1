// Keys from a file, from standard input or from the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared_filters/command/interrupt.h"

namespace deltabloom::tools {

// A key ends with a separator, the last one perhaps with the input: "a\n\nb"
// are three keys, the second of no bytes. Any other bytes are part of a key.
class KeyReader {
 public:
  // `path`: "-" is standard input. Throws std::runtime_error with the path and
  // the reason.
  KeyReader(const std::string& path, char separator, Interrupt* interrupt);
  // Keys of the command line, so without null bytes.
  explicit KeyReader(const std::vector<std::string>& keys);
  ~KeyReader();
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;

  // The next keys, valid until the next call; none at the end. Waits for the
  // first of them; then gathers more for this long, while they come without a
  // pause, up to 64 MiB. Throws Interrupted, and std::runtime_error if the
  // input cannot be read or has a key of more than 1 MiB.
  const std::vector<std::string_view>& Next(
      std::chrono::milliseconds gather = {});

  const std::string& name() const { return name_; }
  uint64_t keys() const { return keys_; }  // given out

 private:
  bool Wait(int milliseconds);
  void Read();

  const std::string name_;
  const char separator_;
  Interrupt* const interrupt_;
  int descriptor_ = -1;
  bool at_end_ = false;
  uint64_t keys_ = 0;
  std::string buffer_;
  size_t used_ = 0;  // of the buffer: given out
  std::vector<std::string_view> batch_;
};

}  // namespace deltabloom::tools
