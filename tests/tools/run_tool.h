// Runs the program from the outside.
#ifndef DELTABLOOM_TESTS_TOOLS_RUN_TOOL_H_
#define DELTABLOOM_TESTS_TOOLS_RUN_TOOL_H_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/sst/memory_source.h"

namespace deltabloom::test {

struct Result {
  int status = -1;
  std::string out;
  std::string err;
};

// A shell's command line; its standard error goes through the file `err`.
inline Result RunProgram(const std::string& program, const std::string& err) {
  Result result;
  FILE* pipe = ::popen((program + " 2>" + err).c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.out.append(buffer.data(), n);
  }
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.err = ReadFile(err);
  return result;
}

inline void ExpectHas(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_TOOLS_RUN_TOOL_H_
