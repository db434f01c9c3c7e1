// The entries of a block, as LevelDB and RocksDB write them: keys that share a
// prefix with the one before, each with a value. Any bytes are safe.
#ifndef DELTABLOOM_TABLE_SST_BLOCK_H_
#define DELTABLOOM_TABLE_SST_BLOCK_H_

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

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_BLOCK_H_
