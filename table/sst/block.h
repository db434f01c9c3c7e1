// Blocks of table files, as LevelDB and RocksDB write them: entries whose keys
// share a prefix with the previous one, and checksums (docs/format.md, "Filters
// inside an SST"). Any bytes are safe.
#ifndef DELTABLOOM_TABLE_SST_BLOCK_H_
#define DELTABLOOM_TABLE_SST_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace deltabloom::internal {

// Takes values off the front of some bytes. Each call returns false, and takes
// nothing, when the bytes do not hold what is asked for.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  // Seven bits per byte, the lowest first; at most the 64 (32) bits there are,
  // and in as few bytes as possible, as both engines write them.
  bool Varint64(uint64_t* value);
  bool Varint32(uint32_t* value);
  bool Bytes(uint64_t n, std::string_view* value);

  size_t Left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

// Calls fn for each entry, in order, until it returns an error. `value` holds
// the entry's value, or, when the block stores no sizes of values
// (`sized_values` false), everything from the value on, of which fn must take
// exactly the value. `shares_key` tells whether the key shares bytes with the
// one before. Returns fn's error, or what is wrong with the block: "entry at
// byte 12: expected ..., found ...".
using EntryFn = std::function<std::string(std::string_view key, bool shares_key,
                                          Cursor* value)>;
std::string ForEachEntry(std::string_view block, bool sized_values,
                         const EntryFn& fn);

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

// The four bytes stored after a block, as a number, without context. `block`
// is the block and the byte that names its compression; it is not empty.
uint32_t BlockChecksum(ChecksumType type, std::string_view block);

// What is added, modulo 2^32, to the checksum of a block (or the footer) at
// `offset`, so that it fails in another place and in another file. `base` is
// the number in the footer that stands for the file; 0: there is no context.
uint32_t ChecksumContext(uint32_t base, uint64_t offset);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_BLOCK_H_
