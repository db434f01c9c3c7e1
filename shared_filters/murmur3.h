// MurmurHash3_x64_128 (Austin Appleby, 2011), seed 0: what Guava, Go and many
// others hash keys with. Written from its published definition; held against
// Guava and Go by tests. Frozen: other programs' bytes depend on it.
#ifndef DELTABLOOM_SHARED_FILTERS_MURMUR3_H_
#define DELTABLOOM_SHARED_FILTERS_MURMUR3_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace deltabloom::internal {

// The 16 bytes of the hash as two little-endian numbers.
struct Murmur3Hash {
  uint64_t low;   // the first 8 bytes: Guava's asLong(), Go's Sum64()
  uint64_t high;  // the last 8 bytes
};

// The hash of `data`, and cheaply that of `data` with one byte more: the blocks
// of 16 bytes are mixed once.
class Murmur3 {
 public:
  explicit Murmur3(std::string_view data);

  Murmur3Hash Finish() const;
  Murmur3Hash FinishWith(uint8_t byte) const;

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
  uint64_t size_;
  // What follows the last whole block, and zeros.
  unsigned char tail_[16] = {};
};

inline Murmur3Hash HashMurmur3(std::string_view data) {
  return Murmur3(data).Finish();
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_SHARED_FILTERS_MURMUR3_H_
