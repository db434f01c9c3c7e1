// What a LOG would hold.
#ifndef DELTABLOOM_TESTS_ROCKSDB_LINE_LOGGER_H_
#define DELTABLOOM_TESTS_ROCKSDB_LINE_LOGGER_H_

#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "rocksdb/env.h"

namespace deltabloom::testing {

class LineLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[1000];
    std::vsnprintf(line, sizeof(line), format, arguments);
    lines.push_back(line);
  }
  // Those that hold `part`.
  std::vector<std::string> Lines(const std::string& part) const {
    std::vector<std::string> found;
    for (const std::string& line : lines) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }
  std::vector<std::string> lines;
};

}  // namespace deltabloom::testing

#endif  // DELTABLOOM_TESTS_ROCKSDB_LINE_LOGGER_H_
