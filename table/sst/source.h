// Where the bytes of a table come from: a file, or memory in tests.
#ifndef DELTABLOOM_TABLE_SST_SOURCE_H_
#define DELTABLOOM_TABLE_SST_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace deltabloom::internal {

class SstSource {
 public:
  virtual ~SstSource() = default;
  // For error messages: the path of a file.
  virtual const std::string& Name() const = 0;
  virtual uint64_t Size() const = 0;
  // Fills dst[0 .. n) from `offset` on, which lies in the file. Returns what
  // went wrong in one line, or nothing.
  virtual std::string Read(uint64_t offset, size_t n, char* dst) const = 0;
};

// Null if the file cannot be opened; *error then says why.
std::unique_ptr<SstSource> OpenSstFile(const std::string& path,
                                       std::string* error);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_SOURCE_H_
