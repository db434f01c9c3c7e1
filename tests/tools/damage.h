// Damage to filters in table files that no checksum betrays.
#ifndef DELTABLOOM_TESTS_TOOLS_DAMAGE_H_
#define DELTABLOOM_TESTS_TOOLS_DAMAGE_H_

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "table/sst/block.h"
#include "table/sst/sst.h"
#include "tests/sst/memory_source.h"
#include "util/coding.h"

namespace deltabloom::test {

// The blocks with filter bytes, in order.
inline std::vector<internal::BlockHandle> FilterBlocks(
    const std::string& path) {
  const MemorySource source(ReadFile(path));
  internal::SstFile file;
  EXPECT_EQ(internal::WalkSst(source, &file), "");
  std::vector<internal::BlockHandle> blocks;
  for (const internal::SstFilter& filter : file.filters) {
    if (filter.scope != internal::FilterScope::kPartitioned) {
      blocks.push_back(filter.handle);
      continue;
    }
    EXPECT_EQ(internal::ForEachPartition(
                  source, file, filter,
                  [&](std::string_view, const internal::BlockHandle& handle) {
                    blocks.push_back(handle);
                    return std::string();
                  }),
              "");
  }
  return blocks;
}

// Changes the bytes of a block and then its checksum, and writes the file.
inline void ChangeBlock(const std::string& path,
                        const internal::BlockHandle& handle,
                        const std::function<void(char* block, size_t n)>& fn) {
  std::string bytes = ReadFile(path);
  const MemorySource source(bytes);
  internal::SstFile file;
  ASSERT_EQ(internal::WalkSst(source, &file), "");
  fn(&bytes[handle.offset], handle.size);
  const std::string_view checked(&bytes[handle.offset], handle.size + 1);
  internal::StoreFixed32(
      reinterpret_cast<unsigned char*>(&bytes[handle.offset + handle.size + 1]),
      internal::BlockChecksum(file.checksum, checked) +
          internal::ChecksumContext(file.checksum_base, handle.offset));
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(internal::ReadBlock(MemorySource(bytes), file, handle, &bytes), "");
}

// Flips one bit, the first set one from the byte `from` on: one that a key of a
// Bloom filter needs.
inline void ClearABit(const std::string& path,
                      const internal::BlockHandle& handle, size_t from) {
  ChangeBlock(path, handle, [from](char* block, size_t n) {
    for (size_t i = from; i < n; ++i) {
      if (block[i] == 0) continue;
      block[i] = static_cast<char>(block[i] & (block[i] - 1));
      return;
    }
    FAIL() << "no bit is set";
  });
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_TOOLS_DAMAGE_H_
