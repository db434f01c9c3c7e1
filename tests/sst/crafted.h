// Tables in memory: made by hand, with right checksums around any content, and
// the walk through them.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tools/sst/sst.h"
#include "tests/folder.h"
#include "util/coding.h"

namespace deltabloom::test {

using internal::BlockHandle;
using internal::ChecksumType;
using internal::SstFile;

// Reads copy, and any that leaves the table fails the test.
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

// The number that stands for the file, from format_version 6 on.
inline constexpr uint32_t kChecksumBase = 0x5eed1234;

class Crafted {
 public:
  explicit Crafted(uint32_t format_version = 5,
                   ChecksumType checksum = ChecksumType::kXxh3)
      : format_version_(format_version), checksum_(checksum) {}

  BlockHandle Add(std::string block, uint8_t compression = 0) {
    const BlockHandle handle{bytes_.size(), block.size()};
    block.push_back(static_cast<char>(compression));
    bytes_ += block + Fixed(internal::BlockChecksum(checksum_, block) +
                                Context(handle.offset),
                            4);
    return handle;
  }

  // The whole table, with these handles in the footer. From format_version 6 on
  // only the metaindex counts, which must be the last block.
  std::string Finish(const BlockHandle& metaindex, const BlockHandle& index) {
    std::string handles = Handle(metaindex) + Handle(index);
    handles.resize(40);
    if (format_version_ == 0) {
      return bytes_ + handles + Fixed(0xdb4775248b80fb57, 8);
    }
    if (format_version_ >= 6) return bytes_ + ExtendedFooter(metaindex.size);
    return bytes_ + Footer(handles);
  }

  // Ends the table with a metaindex of these entries and an index of no
  // entries.
  std::string FinishWith(const std::string& metaindex_entries) {
    const BlockHandle index = Add(Block(""));
    const BlockHandle metaindex =
        Add(Block(metaindex_entries +
                  (format_version_ >= 6 ? Entry("rocksdb.index", Handle(index))
                                        : std::string())));
    return Finish(metaindex, index);
  }

  // The footer of format_version 6 and later, as if after the bytes so far.
  std::string ExtendedFooter(uint64_t metaindex_size,
                             const std::string& reserved = {}) const {
    const auto with = [&](uint32_t checksum) {
      std::string fields = std::string("\x3e\0\x7a\0", 4) + Fixed(checksum, 4) +
                           Fixed(kChecksumBase, 4) + Fixed(metaindex_size, 4) +
                           reserved;
      fields.resize(40);
      return Footer(fields);
    };
    return with(internal::BlockChecksum(checksum_, with(0)) +
                Context(bytes_.size()));
  }

 private:
  uint32_t Context(uint64_t offset) const {
    if (format_version_ < 6) return 0;
    return kChecksumBase ^ (static_cast<uint32_t>(offset) +
                            static_cast<uint32_t>(offset >> 32));
  }

  std::string Footer(const std::string& middle) const {
    return Fixed(static_cast<uint64_t>(checksum_), 1) + middle +
           Fixed(format_version_, 4) + Fixed(0x88e241b785f4cff7, 8);
  }

  const uint32_t format_version_;
  const ChecksumType checksum_;
  std::string bytes_;
};

struct Partition {
  std::string last_key;
  BlockHandle handle;
};

// A table in memory, and what the walk through it finds.
struct Walked {
  explicit Walked(const std::string& bytes) : source(bytes) {
    EXPECT_EQ(internal::WalkSst(source, &file), "");
  }

  std::string Read(const BlockHandle& handle) const {
    std::string block;
    EXPECT_EQ(internal::ReadBlock(source, file, handle, &block), "");
    return block;
  }
  uint64_t Number(const char* property) const {
    uint64_t number = 0;
    EXPECT_TRUE(file.properties.Number(property, &number)) << property;
    return number;
  }
  // The blocks with the filter's bytes: its partitions, or it alone.
  std::vector<Partition> Parts(const internal::SstFilter& filter) const {
    if (filter.scope != internal::FilterScope::kPartitioned) {
      return {{"~", filter.handle}};
    }
    std::vector<Partition> parts;
    EXPECT_EQ(internal::ForEachPartition(
                  source, file, filter,
                  [&](std::string_view key, const BlockHandle& handle) {
                    parts.push_back({std::string(key), handle});
                    return std::string();
                  }),
              "");
    EXPECT_EQ(parts.size(), filter.partitions);
    return parts;
  }

  const MemorySource source;
  SstFile file;
};

inline std::string Walk(const std::string& bytes, SstFile* file) {
  return internal::WalkSst(MemorySource(bytes), file);
}

inline std::string Walk(const std::string& bytes) {
  SstFile file;
  return Walk(bytes, &file);
}

// The walk must fail, and the error name the table and an offset in it.
inline void ExpectError(const std::string& bytes, const std::string& part) {
  const std::string error = Walk(bytes);
  EXPECT_NE(error.find(part), std::string::npos)
      << "expected: " << part << "\nfound: " << error;
  EXPECT_EQ(error.rfind("table in memory: offset ", 0), 0u) << error;
}

}  // namespace deltabloom::test
