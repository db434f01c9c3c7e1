// A compact filter made of hashes, without the row's planning: tests choose
// shapes that the planner never would.
#pragma once

#include <algorithm>
#include <memory>

#include "tests/random.h"
#include "tests/reference/reference.h"
#include "util/layouts/compact/compact.h"

namespace deltabloom::test {

inline internal::compact::Shape ShapeOf(const reference::CompactBlocks& blocks,
                                        uint64_t payload_size) {
  internal::compact::Shape shape =
      internal::compact::ShapeOfBlocks(blocks).value();
  EXPECT_TRUE(internal::compact::SetPayloadSize(payload_size, &shape));
  return shape;
}

// A payload size for blocks that each have `columns` columns, `missing` words
// left out.
inline uint64_t PayloadSize(const reference::CompactBlocks& blocks,
                            uint64_t columns, uint64_t missing = 0) {
  const uint64_t words =
      (blocks[0] + blocks[1] + blocks[2] + 1) * columns - missing;
  return words * 8 + reference::CompactFixedBytes(blocks);
}

inline std::vector<uint64_t> RandomHashes(Random* random, size_t n) {
  std::vector<uint64_t> hashes(n);
  for (uint64_t& hash : hashes) hash = random->Next();
  return hashes;
}

inline internal::HashList ListOf(const std::vector<uint64_t>& hashes) {
  internal::HashList list(8);
  for (uint64_t hash : hashes) list.Add(hash);
  return list;
}

inline std::vector<uint64_t> HashesIn(const internal::HashList& list) {
  std::vector<uint64_t> hashes;
  list.ForEachChunk<uint64_t>([&](const uint64_t* chunk, size_t n) {
    hashes.insert(hashes.end(), chunk, chunk + n);
  });
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

// Empty if the construction gives up.
inline std::string Build(const std::vector<uint64_t>& hashes,
                         const reference::CompactBlocks& blocks,
                         uint64_t payload_size, internal::Cpu level) {
  internal::HashList list = ListOf(hashes);
  const std::unique_ptr<unsigned char[]> payload(
      new unsigned char[payload_size]());
  if (!internal::compact::BuildShape(&list, /*keep_hashes=*/false,
                                     ShapeOf(blocks, payload_size), level,
                                     payload.get())) {
    return {};
  }
  return std::string(reinterpret_cast<const char*>(payload.get()),
                     payload_size);
}

}  // namespace deltabloom::test
