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

// The four bytes stored behind a block, as a number. `block` is the block and
// the byte that tells its compression.
uint32_t BlockChecksum(ChecksumType type, std::string_view block);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_CHECKSUM_H_
