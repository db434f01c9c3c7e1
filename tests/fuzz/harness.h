// Functions that all fuzz harnesses share. A harness is one source file, which
// includes this header and defines FuzzOne.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/cpu.h"
#include "util/key_batch.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"

namespace deltabloom::fuzz {

// Takes one input, in memory of its own, so that ASan sees its end.
void FuzzOne(std::string_view bytes);

// Stays in builds with NDEBUG, and leaves a backtrace.
inline void Check(bool condition) {
  if (!condition) std::abort();
}

// The levels of instructions that this CPU has.
inline const std::vector<internal::Cpu>& Levels() {
  static const auto& levels = *new std::vector<internal::Cpu>([] {
    std::vector<internal::Cpu> usable;
    for (const internal::Cpu cpu : internal::kAllCpus) {
      if (cpu <= internal::DetectedCpu()) usable.push_back(cpu);
    }
    return usable;
  }());
  return levels;
}

// Takes values off the front of an input; one that is used up gives zeros.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  uint32_t Number() {
    const uint32_t low = Byte();
    return low | uint32_t{Byte()} << 8;
  }
  // Takes at most `size` bytes, in memory of their own, so that ASan sees their
  // end.
  std::vector<char> Bytes(size_t size) {
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return {taken.begin(), taken.end()};
  }
  // A size of one byte, and as many bytes, less than `end`.
  std::string Key(size_t end) {
    const std::vector<char> key = Bytes(Byte() % end);
    return {key.begin(), key.end()};
  }
  std::vector<char> Rest() { return Bytes(bytes_.size()); }

 private:
  std::string_view bytes_;
};

inline std::string_view View(const std::vector<char>& bytes) {
  return {bytes.data(), bytes.size()};
}

// The answers for `keys`, asked one by one and in one batch, which must agree.
inline std::vector<bool> Ask(const internal::ParsedFilter& parsed,
                             const std::vector<std::string_view>& keys) {
  // The memory for the answers ends with the last of them, as it does in
  // RocksDB, so that AddressSanitizer sees a write behind it.
  const auto batch = std::make_unique<bool[]>(keys.size());
  internal::MayMatchViews(parsed, keys.data(), keys.size(), batch.get());
  std::vector<bool> answers;
  for (size_t i = 0; i < keys.size(); ++i) {
    answers.push_back(parsed.may_match(parsed, keys[i]));
    Check(answers[i] == batch[i]);
  }
  return answers;
}

}  // namespace deltabloom::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<char> copy(data, data + size);
  deltabloom::fuzz::FuzzOne(deltabloom::fuzz::View(copy));
  return 0;
}
