#include "table/sst/block.h"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

// The entries without the array of restart points after them, whose offsets
// must ascend and lie within the entries.
std::string FindEntries(std::string_view block, std::string_view* entries) {
  if (block.size() < 8) {
    return "expected at least 8 bytes, found " + std::to_string(block.size());
  }
  const uint64_t restarts = LoadFixed32(block.data() + block.size() - 4);
  if (restarts == 0 || 4 * (restarts + 1) > block.size()) {
    return "expected 1 to " + std::to_string(block.size() / 4 - 1) +
           " restart points, found " + std::to_string(restarts);
  }
  const size_t end = block.size() - 4 * (restarts + 1);
  uint32_t last = 0;
  for (size_t i = 0; i < restarts; ++i) {
    const uint32_t restart = LoadFixed32(block.data() + end + 4 * i);
    if (restart < last || restart > end || (i == 0 && restart != 0)) {
      return "restart point " + std::to_string(i) + ": expected " +
             (i == 0 ? "0"
                     : std::to_string(last) + " to " + std::to_string(end)) +
             ", found " + std::to_string(restart);
    }
    last = restart;
  }
  *entries = block.substr(0, end);
  return {};
}

// Takes one entry up to its value.
std::string TakeKey(Cursor* cursor, bool sized_values, std::string* key,
                    uint32_t* shared, uint32_t* value_size) {
  uint32_t unshared;
  std::string_view rest_of_key;
  if (!cursor->Varint32(shared) || !cursor->Varint32(&unshared) ||
      (sized_values && !cursor->Varint32(value_size))) {
    return "expected the sizes of a key, found no valid varint32";
  }
  if (*shared > key->size()) {
    return "expected at most " + std::to_string(key->size()) +
           " bytes shared with the key before, found " +
           std::to_string(*shared);
  }
  const size_t left = cursor->Left();
  if (!cursor->Bytes(unshared, &rest_of_key)) {
    return "expected a key of " + std::to_string(unshared) +
           " more bytes, found " + std::to_string(left);
  }
  key->resize(*shared);
  key->append(rest_of_key);
  return {};
}

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

bool Cursor::Varint64(uint64_t* value) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 10 && i < bytes_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes_[i]);
    if (i == 9 && byte > 1) return false;
    result |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      if (byte == 0 && i > 0) return false;  // longer than it needs to be
      bytes_.remove_prefix(i + 1);
      *value = result;
      return true;
    }
  }
  return false;
}

bool Cursor::Varint32(uint32_t* value) {
  const std::string_view before = bytes_;
  uint64_t wide;
  if (!Varint64(&wide)) return false;
  if (wide > UINT32_MAX) {
    bytes_ = before;
    return false;
  }
  *value = static_cast<uint32_t>(wide);
  return true;
}

bool Cursor::Bytes(uint64_t n, std::string_view* value) {
  if (n > bytes_.size()) return false;
  *value = bytes_.substr(0, n);
  bytes_.remove_prefix(n);
  return true;
}

std::string ForEachEntry(std::string_view block, bool sized_values,
                         const EntryFn& fn) {
  std::string_view entries;
  std::string error = FindEntries(block, &entries);
  Cursor cursor(entries);
  std::string key;
  while (error.empty() && cursor.Left() > 0) {
    const size_t start = entries.size() - cursor.Left();
    uint32_t shared = 0;
    uint32_t value_size = 0;
    error = TakeKey(&cursor, sized_values, &key, &shared, &value_size);
    if (error.empty() && sized_values) {
      const size_t left = cursor.Left();
      std::string_view value;
      if (cursor.Bytes(value_size, &value)) {
        Cursor of_value(value);
        error = fn(key, shared != 0, &of_value);
      } else {
        error = "expected a value of " + std::to_string(value_size) +
                " bytes, found " + std::to_string(left);
      }
    } else if (error.empty()) {
      error = fn(key, shared != 0, &cursor);
    }
    if (!error.empty()) {
      error = "entry at byte " + std::to_string(start) + ": " + error;
    }
  }
  return error;
}

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
