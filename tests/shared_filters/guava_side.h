// Guava itself, run from tests: GuavaSide.java says what it obeys.
#ifndef DELTABLOOM_TESTS_SHARED_FILTERS_GUAVA_SIDE_H_
#define DELTABLOOM_TESTS_SHARED_FILTERS_GUAVA_SIDE_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/guava_filter.h"
#include "deltabloom/guava_funnels.h"
#include "util/coding.h"

namespace deltabloom::test {

// A folder that goes when the test ends.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "deltabloom_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

inline std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(byte)));
    hex += digits;
  }
  return hex;
}

inline std::string HexOfUtf16(std::u16string_view text) {
  std::string bytes;
  for (const char16_t unit : text) {
    bytes.push_back(static_cast<char>(unit >> 8));
    bytes.push_back(static_cast<char>(unit & 0xFF));
  }
  return Hex(bytes);
}

// Lines to obey, and the answer to each.
class GuavaSide {
 public:
  // Why it cannot run; empty if it can.
  static std::string WhyNot() {
    if (std::string(DELTABLOOM_JAVAC).empty()) {
      return "no javac and java: script/bootstrap test installs "
             "default-jdk-headless and libguava-java; then configure again";
    }
    if (!std::filesystem::exists(DELTABLOOM_GUAVA_JAR)) {
      return "no " DELTABLOOM_GUAVA_JAR
             ": script/bootstrap test installs libguava-java";
    }
    return {};
  }

  // Compiles it, once.
  GuavaSide() {
    Run(std::string(DELTABLOOM_JAVAC) +
        " -encoding UTF-8 -cp " DELTABLOOM_GUAVA_JAR " -d " +
        folder_.File("classes") + " " + DELTABLOOM_GUAVA_SIDE);
  }

  std::vector<std::string> Obey(const std::vector<std::string>& lines) const {
    std::string input;
    for (const std::string& line : lines) input += line + "\n";
    WriteFile(folder_.File("lines"), input);
    Run(std::string(DELTABLOOM_JAVA) + " -XX:TieredStopAtLevel=1 -cp " +
        DELTABLOOM_GUAVA_JAR ":" + folder_.File("classes") +
        " com.google.common.hash.GuavaSide <" + folder_.File("lines") + " >" +
        folder_.File("answers"));
    std::ifstream file(folder_.File("answers"));
    std::vector<std::string> answers;
    for (std::string line; std::getline(file, line);) answers.push_back(line);
    if (answers.size() != lines.size()) {
      throw std::runtime_error("Java answered " +
                               std::to_string(answers.size()) + " lines of " +
                               std::to_string(lines.size()));
    }
    return answers;
  }

  const ScratchFolder& folder() const { return folder_; }

 private:
  static void Run(const std::string& command) {
    if (std::system(command.c_str()) != 0) {
      throw std::runtime_error("failed: " + command);
    }
  }

  ScratchFolder folder_;
};

// Generated keys, as GuavaSide.java makes them.
inline uint64_t SpreadNumber(uint64_t i) { return i * 0x9E3779B97F4A7C15u; }

inline std::string GeneratedKey(const std::string& funnel, uint64_t i) {
  const std::u16string text = [i] {
    std::u16string units = u"caf\u00e9:";
    for (const char digit : std::to_string(i)) {
      units.push_back(static_cast<char16_t>(digit));
    }
    return units;
  }();
  if (funnel == "STRING") return GuavaStringFunnel(text);
  if (funnel == "CHARS") return GuavaUnencodedCharsFunnel(text);
  if (funnel == "INT") {
    return GuavaIntegerFunnel(static_cast<int32_t>(SpreadNumber(i)));
  }
  if (funnel == "LONG") {
    return GuavaLongFunnel(static_cast<int64_t>(SpreadNumber(i)));
  }
  std::string bytes(8, '\0');
  internal::StoreFixed64(bytes.data(), SpreadNumber(i));
  return bytes;
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_SHARED_FILTERS_GUAVA_SIDE_H_
