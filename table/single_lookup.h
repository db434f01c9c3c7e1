// One lookup in a raw filter that is seen for the first time, as in engines
// that hand over filter bytes with every key.
//
// Parsing for many lookups divides 64-bit numbers and picks a kernel; for one
// lookup that costs as much as the lookup itself. Here a classic filter is
// asked at once, everything else through Filter.
#ifndef DELTABLOOM_TABLE_SINGLE_LOOKUP_H_
#define DELTABLOOM_TABLE_SINGLE_LOOKUP_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/hash.h"

namespace deltabloom::internal {

// Divides 32-bit numbers by multiplication. With R = floor((2^32 - 1) / d),
// which is 2^32 / d less an e in (0, 1], q = floor(h * R / 2^32) is at most 1
// below floor(h / d), so that h - q * d is in [0, 2d) and never above h;
// less d it wraps exactly when it is below d.
class Remainder32 {
 public:
  explicit Remainder32(uint32_t divisor)
      : divisor_(divisor), inverse_(~uint32_t{0} / divisor) {}

  uint32_t operator()(uint32_t h) const {
    const auto q = static_cast<uint32_t>(uint64_t{h} * inverse_ >> 32);
    const uint32_t r = h - q * divisor_;
    return std::min(r, r - divisor_);
  }

 private:
  const uint32_t divisor_;
  const uint32_t inverse_;
};

// A classic filter of `bits` bits; `probes` is at least 1.
inline bool ClassicMayMatchOnce(const unsigned char* payload, uint32_t bits,
                                uint32_t probes, uint32_t hash) {
  const Remainder32 remainder(bits);
  const uint32_t delta = hash >> 17 | hash << 15;
  const auto missing = [&](uint32_t h) {
    const uint32_t position = remainder(h);
    return ~(uint32_t{payload[position / 8]} >> (position % 8)) & 1;
  };
  if (probes >= 3) {
    // Three probes for one branch: each finds its bit set about every second
    // time, so branches of their own would be mispredicted.
    if ((missing(hash) | missing(hash + delta) | missing(hash + 2 * delta)) !=
        0) {
      return false;
    }
    hash += 3 * delta;
    probes -= 3;
  }
  uint32_t any_missing = 0;
  for (; probes >= 3; probes -= 3, hash += 3 * delta) {
    any_missing |=
        missing(hash) | missing(hash + delta) | missing(hash + 2 * delta);
  }
  for (; probes > 0; --probes, hash += delta) any_missing |= missing(hash);
  return any_missing == 0;
}

// The answer that Filter(filter, hash).MayMatch(key) gives.
inline bool MayMatchOnce(std::string_view filter, Hash hash,
                         std::string_view key) {
  constexpr size_t kMaxPayload = size_t{1} << 28;  // keeps bits below 2^32
  constexpr unsigned kMaxClassicLastByte = 30;
  if (filter.size() < 2) return false;
  const unsigned last_byte = static_cast<unsigned char>(filter.back());
  const size_t payload_size = filter.size() - 1;
  if (last_byte == 0 || last_byte > kMaxClassicLastByte ||
      payload_size > kMaxPayload) {
    return Filter(filter, hash).MayMatch(key);
  }
  const uint32_t key_hash =
      hash == Hash::kLevelDB
          ? LevelDBHash(key.data(), key.size(), kBloomHashSeed)
          : MurmurHash2(key.data(), key.size(), kBloomHashSeed);
  return ClassicMayMatchOnce(
      reinterpret_cast<const unsigned char*>(filter.data()),
      static_cast<uint32_t>(payload_size * 8), last_byte, key_hash);
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SINGLE_LOOKUP_H_
