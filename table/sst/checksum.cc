#include "table/sst/checksum.h"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace deltabloom::internal {
namespace {

std::array<uint32_t, 256> Crc32cTable() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli, bits reflected
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    table[byte] = crc;
  }
  return table;
}

uint32_t Crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = Crc32cTable();
  uint32_t crc = ~uint32_t{0};
  for (char byte : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~crc;
}

// Both engines store CRCs rotated and shifted, because the CRC of bytes that
// contain their own CRC says little.
uint32_t Masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

}  // namespace

const char* ChecksumName(ChecksumType type) {
  switch (type) {
    case ChecksumType::kNone:
      return "none";
    case ChecksumType::kCrc32c:
      return "CRC32c";
    case ChecksumType::kXxHash:
      return "xxHash";
    case ChecksumType::kXxHash64:
      return "xxHash64";
    case ChecksumType::kXxh3:
      return "XXH3";
  }
  return "unknown";
}

uint32_t BlockChecksum(ChecksumType type, std::string_view block) {
  switch (type) {
    case ChecksumType::kNone:
      return 0;
    case ChecksumType::kCrc32c:
      return Masked(Crc32c(block));
    case ChecksumType::kXxHash:
      return XXH32(block.data(), block.size(), 0);
    case ChecksumType::kXxHash64:
      return static_cast<uint32_t>(XXH64(block.data(), block.size(), 0));
    case ChecksumType::kXxh3:
      // The last byte enters by a multiplication, not by the hash.
      return static_cast<uint32_t>(
                 XXH3_64bits(block.data(), block.size() - 1)) ^
             static_cast<unsigned char>(block.back()) * 0x6b9083d9u;
  }
  return 0;
}

uint32_t ChecksumContext(uint32_t base, uint64_t offset) {
  if (base == 0) return 0;
  return base ^ static_cast<uint32_t>(offset + (offset >> 32));
}

}  // namespace deltabloom::internal
