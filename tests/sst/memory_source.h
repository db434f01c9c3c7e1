// A table in memory. Reads copy, and any that leaves the table fails the test.
#ifndef DELTABLOOM_TESTS_SST_MEMORY_SOURCE_H_
#define DELTABLOOM_TESTS_SST_MEMORY_SOURCE_H_

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "table/sst/source.h"

namespace deltabloom::test {

class MemorySource : public internal::SstSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}

  const std::string& Name() const override { return name_; }
  uint64_t Size() const override { return bytes_.size(); }
  std::string Read(uint64_t offset, size_t n, char* dst) const override {
    if (n > bytes_.size() || offset > bytes_.size() - n) {
      ADD_FAILURE() << n << " bytes at " << offset << " read of "
                    << bytes_.size();
      return "read outside of the table";
    }
    std::memcpy(dst, bytes_.data() + offset, n);
    return {};
  }

 private:
  const std::string name_ = "table in memory";
  const std::string bytes_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_SST_MEMORY_SOURCE_H_
