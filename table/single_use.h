// Raw filters in engines that hand over all keys of a small filter at once,
// and its bytes with every lookup.
//
// For one lookup, parsing a filter for many costs as much as the lookup
// itself; for a few keys, so do a builder's allocations. Here a classic filter
// is asked and built directly, everything else through Filter and
// FilterBuilder: the same answers and bytes.
#ifndef DELTABLOOM_TABLE_SINGLE_USE_H_
#define DELTABLOOM_TABLE_SINGLE_USE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/coding.h"
#include "util/hash.h"
#include "util/layout.h"

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

inline uint32_t ClassicHash(Hash hash, std::string_view key) {
  return hash == Hash::kLevelDB
             ? LevelDBHash(key.data(), key.size(), kBloomHashSeed)
             : MurmurHash2(key.data(), key.size(), kBloomHashSeed);
}

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
  return ClassicMayMatchOnce(
      reinterpret_cast<const unsigned char*>(filter.data()),
      static_cast<uint32_t>(payload_size * 8), last_byte,
      ClassicHash(hash, key));
}

// Appends the filter that a FilterBuilder makes of key_of(0 .. n-1).
template <typename KeyOf>
void CreateFilterAtOnce(const FilterOptions& options, size_t n,
                        const KeyOf& key_of, std::string* dst) {
  constexpr size_t kMaxBits = size_t{16} << 10;
  const LayoutRow* row = FindLayout(options.layout, options.hash);
  const Plan plan = row->plan(n, ToMillibits(options.bits_per_key));
  if (options.layout != Layout::kClassic || plan.payload_size > kMaxBits / 8) {
    FilterBuilder builder(options);
    for (size_t i = 0; i < n; ++i) builder.AddKey(key_of(i));
    builder.Finish(dst);
    return;
  }

  // A byte per bit, packed in the end. Setting bits in place would read many
  // bytes that were written just before, and wait for each.
  unsigned char flags[kMaxBits];
  const auto bits = static_cast<uint32_t>(plan.payload_size * 8);
  std::memset(flags, 0, bits);
  const Remainder32 remainder(bits);
  for (size_t i = 0; i < n; ++i) {
    uint32_t h = ClassicHash(options.hash, key_of(i));
    const uint32_t delta = h >> 17 | h << 15;
    for (uint32_t probe = 0; probe < plan.parameter; ++probe, h += delta) {
      flags[remainder(h)] = 1;
    }
  }
  const size_t start = dst->size();
  dst->resize(start + plan.payload_size + 1);
  char* to = &(*dst)[start];
  for (const unsigned char* from = flags; from < flags + bits; from += 8) {
    // Byte i is 0 or 1; the product has it as bit 56 + i, without carries.
    *to++ = static_cast<char>(LoadFixed64(from) * 0x0102040810204080 >> 56);
  }
  *to = static_cast<char>(plan.last_byte);
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SINGLE_USE_H_
