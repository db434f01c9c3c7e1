// Reads files of known answers, in tests/data unless the path is absolute:
// comma-separated, no quoting, a header line first.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/test_data.h"

namespace deltabloom::test {

// Rows without the header; throws if the file is missing or has none.
inline std::vector<std::vector<std::string>> ReadCsv(const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::path(DELTABLOOM_TEST_DATA) / name;
  std::ifstream file(path);
  std::string line;
  std::vector<std::vector<std::string>> rows;
  std::getline(file, line);
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> cells;
    std::istringstream cell_stream(line + ",");
    for (std::string cell; std::getline(cell_stream, cell, ',');) {
      cells.push_back(cell);
    }
    rows.push_back(cells);
  }
  if (rows.empty()) throw std::runtime_error(path.string() + ": no rows");
  return rows;
}

inline std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(
        static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

}  // namespace deltabloom::test
