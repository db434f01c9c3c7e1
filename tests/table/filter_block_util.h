// A policy that cannot be lucky, and filter blocks by hand.
#ifndef DELTABLOOM_TESTS_TABLE_FILTER_BLOCK_UTIL_H_
#define DELTABLOOM_TESTS_TABLE_FILTER_BLOCK_UTIL_H_

#include <string>
#include <vector>

#include "deltabloom/filter_policy.h"
#include "util/coding.h"

namespace deltabloom::test {

// A filter is its keys, each behind a '/'.
class ListPolicy : public FilterPolicy {
 public:
  const char* Name() const override { return "test.List"; }

  void CreateFilter(const std::string_view* keys, size_t n,
                    std::string* dst) const override {
    for (size_t i = 0; i < n; ++i) {
      dst->append("/").append(keys[i].data(), keys[i].size());
    }
  }

  bool KeyMayMatch(std::string_view key,
                   std::string_view filter) const override {
    return (std::string(filter) + "/").find("/" + std::string(key) + "/") !=
           std::string::npos;
  }
};

inline std::string Fixed32(uint32_t value) {
  std::string bytes(4, '\0');
  internal::StoreFixed32(&bytes[0], value);
  return bytes;
}

// A block by hand: filters, offsets, array_offset, base_lg.
inline std::string Block(const std::string& filters,
                         const std::vector<uint32_t>& offsets,
                         uint32_t array_offset, unsigned char base_lg) {
  std::string block = filters;
  for (uint32_t offset : offsets) block += Fixed32(offset);
  return block + Fixed32(array_offset) + static_cast<char>(base_lg);
}

inline std::string Block(const std::string& filters,
                         const std::vector<uint32_t>& offsets) {
  return Block(filters, offsets, static_cast<uint32_t>(filters.size()), 11);
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_TABLE_FILTER_BLOCK_UTIL_H_
