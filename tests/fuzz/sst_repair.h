// Makes the checksums and the footer of a damaged table right again, so that a
// walk gets past them to what was changed.
#ifndef DELTABLOOM_TESTS_FUZZ_SST_REPAIR_H_
#define DELTABLOOM_TESTS_FUZZ_SST_REPAIR_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "table/sst/source.h"

namespace deltabloom::fuzz {

// A table in memory, which remembers what was read last.
class TableBytes final : public internal::SstSource {
 public:
  TableBytes(const char* bytes, size_t size) : bytes_(bytes), size_(size) {}

  const std::string& Name() const override { return name_; }
  uint64_t Size() const override { return size_; }
  // Aborts when the range leaves the table.
  std::string Read(uint64_t offset, size_t n, char* dst) const override;

  uint64_t last_offset() const { return last_offset_; }
  size_t last_size() const { return last_size_; }

 private:
  const std::string name_ = "table";
  const char* const bytes_;
  const size_t size_;
  mutable uint64_t last_offset_ = 0;
  mutable size_t last_size_ = 0;
};

// Keeps the size. What cannot be told from the bytes stays as it is.
void RepairTable(std::string* table);

}  // namespace deltabloom::fuzz

#endif  // DELTABLOOM_TESTS_FUZZ_SST_REPAIR_H_
