#include "shared_filters/murmur3.h"

#include <cstring>

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr size_t kBlockSize = 16;
constexpr uint64_t kMultiplier1 = 0x87c37b91114253d5;
constexpr uint64_t kMultiplier2 = 0x4cf5ad432745937f;

inline uint64_t RotateLeft(uint64_t value, unsigned bits) {
  return value << bits | value >> (64 - bits);
}

inline uint64_t MixWord1(uint64_t word) {
  return RotateLeft(word * kMultiplier1, 31) * kMultiplier2;
}

inline uint64_t MixWord2(uint64_t word) {
  return RotateLeft(word * kMultiplier2, 33) * kMultiplier1;
}

inline void MixBlock(const void* block, uint64_t* low, uint64_t* high) {
  const auto* bytes = static_cast<const unsigned char*>(block);
  *low ^= MixWord1(LoadFixed64(bytes));
  *low = (RotateLeft(*low, 27) + *high) * 5 + 0x52dce729;
  *high ^= MixWord2(LoadFixed64(bytes + 8));
  *high = (RotateLeft(*high, 31) + *low) * 5 + 0x38495ab5;
}

inline uint64_t Avalanche(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

// `tail` is 16 bytes of which those behind the data are zero: a word of zeros
// mixes to zero and changes nothing.
Murmur3Hash FinishTail(const unsigned char* tail, uint64_t size, uint64_t low,
                       uint64_t high) {
  high ^= MixWord2(LoadFixed64(tail + 8));
  low ^= MixWord1(LoadFixed64(tail));
  low ^= size;
  high ^= size;
  low += high;
  high += low;
  low = Avalanche(low);
  high = Avalanche(high);
  low += high;
  high += low;
  return {low, high};
}

}  // namespace

Murmur3::Murmur3(std::string_view data) : size_(data.size()) {
  while (data.size() >= kBlockSize) {
    MixBlock(data.data(), &low_, &high_);
    data.remove_prefix(kBlockSize);
  }
  // An empty view may have no address.
  if (!data.empty()) std::memcpy(tail_, data.data(), data.size());
}

Murmur3Hash Murmur3::Finish() const {
  return FinishTail(tail_, size_, low_, high_);
}

Murmur3Hash Murmur3::FinishWith(uint8_t byte) const {
  unsigned char tail[kBlockSize];
  std::memcpy(tail, tail_, kBlockSize);
  const size_t used = size_ % kBlockSize;
  tail[used] = byte;
  if (used + 1 < kBlockSize) return FinishTail(tail, size_ + 1, low_, high_);
  uint64_t low = low_, high = high_;
  MixBlock(tail, &low, &high);
  constexpr unsigned char kNothing[kBlockSize] = {};
  return FinishTail(kNothing, size_ + 1, low, high);
}

}  // namespace deltabloom::internal
