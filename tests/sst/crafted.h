// Tables made by hand, with right checksums around whatever they hold.
#ifndef DELTABLOOM_TESTS_SST_CRAFTED_H_
#define DELTABLOOM_TESTS_SST_CRAFTED_H_

#include <cstdint>
#include <string>

#include "table/sst/sst.h"
#include "util/coding.h"

namespace deltabloom::test {

using internal::BlockHandle;
using internal::ChecksumType;

inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) {
    bytes.push_back(static_cast<char>(value | 128));
  }
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

inline std::string Handle(const BlockHandle& handle) {
  return Varint(handle.offset) + Varint(handle.size);
}

inline std::string Fixed(uint64_t value, size_t size) {
  char bytes[8];
  internal::StoreFixed64(bytes, value);
  return std::string(bytes, size);
}

inline std::string Entry(const std::string& key, const std::string& value) {
  return Varint(0) + Varint(key.size()) + Varint(value.size()) + key + value;
}

inline std::string Block(const std::string& entries) {
  return entries + Fixed(0, 4) + Fixed(1, 4);
}

class Crafted {
 public:
  explicit Crafted(uint32_t format_version = 5,
                   ChecksumType checksum = ChecksumType::kXxh3)
      : format_version_(format_version), checksum_(checksum) {}

  BlockHandle Add(std::string block, uint8_t compression = 0) {
    const BlockHandle handle{bytes_.size(), block.size()};
    block.push_back(static_cast<char>(compression));
    bytes_ += block + Fixed(internal::BlockChecksum(checksum_, block), 4);
    return handle;
  }

  // Gives the whole table, with these handles in the footer.
  std::string Finish(const BlockHandle& metaindex, const BlockHandle& index) {
    std::string handles = Handle(metaindex) + Handle(index);
    handles.resize(40);
    if (format_version_ == 0) {
      return bytes_ + handles + Fixed(0xdb4775248b80fb57, 8);
    }
    return bytes_ + Fixed(static_cast<uint64_t>(checksum_), 1) + handles +
           Fixed(format_version_, 4) + Fixed(0x88e241b785f4cff7, 8);
  }

  // With a metaindex of these entries and an index of no entries.
  std::string FinishWith(const std::string& metaindex_entries) {
    const BlockHandle metaindex = Add(Block(metaindex_entries));
    const BlockHandle index = Add(Block(""));
    return Finish(metaindex, index);
  }

 private:
  const uint32_t format_version_;
  const ChecksumType checksum_;
  std::string bytes_;
};

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_SST_CRAFTED_H_
