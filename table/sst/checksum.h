// The checksums of blocks in tables (docs/format.md, "Filters inside an SST").
#ifndef DELTABLOOM_TABLE_SST_CHECKSUM_H_
#define DELTABLOOM_TABLE_SST_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace deltabloom::internal {

// The numbers are those in the footer.
enum class ChecksumType : uint8_t {
  kNone = 0,
  kCrc32c = 1,
  kXxHash = 2,
  kXxHash64 = 3,
  kXxh3 = 4,
};
inline constexpr uint8_t kLastChecksumType = 4;

const char* ChecksumName(ChecksumType type);

// The four bytes stored behind a block, as a number, without context. `block`
// is the block and the byte that tells its compression; it is not empty.
uint32_t BlockChecksum(ChecksumType type, std::string_view block);

// What is added, modulo 2^32, to the checksum of a block (or the footer) at
// `offset`, so that it fails in another place and in another file. `base` is
// the number in the footer that stands for the file; 0: there is no context.
uint32_t ChecksumContext(uint32_t base, uint64_t offset);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_CHECKSUM_H_
