// Hashes of many keys at a time, for the classic kernels. Included by
// simd-inl.h, whose conditions hold here, too.
#ifndef DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SIMD_HASH_INL_H_
#define DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SIMD_HASH_INL_H_

#include <algorithm>
#include <cstring>
#include <string_view>

namespace deltabloom::internal::classic {
namespace {

using Lanes = Vector::Type;
constexpr size_t kLanes = Vector::kLanes;

struct VectorMurmurHash2 {
  static constexpr KeyHash kScalar = MurmurHash2;
  static constexpr uint32_t kMultiplier = 0x5bd1e995;

  DELTABLOOM_TARGET static inline Lanes Start(size_t size) {
    return Vector::Set(kBloomHashSeed ^ static_cast<uint32_t>(size));
  }
  DELTABLOOM_TARGET static inline Lanes AddWord(Lanes h, Lanes word) {
    const Lanes m = Vector::Set(kMultiplier);
    word = Vector::Mul(word, m);
    word = Vector::Xor(word, Vector::ShiftRight<24>(word));
    return Vector::Xor(Vector::Mul(h, m), Vector::Mul(word, m));
  }
  DELTABLOOM_TARGET static inline Lanes AddTail(Lanes h, Lanes tail) {
    return Vector::Mul(Vector::Xor(h, tail), Vector::Set(kMultiplier));
  }
  DELTABLOOM_TARGET static inline Lanes End(Lanes h) {
    h = Vector::Xor(h, Vector::ShiftRight<13>(h));
    h = Vector::Mul(h, Vector::Set(kMultiplier));
    return Vector::Xor(h, Vector::ShiftRight<15>(h));
  }
};

struct VectorLevelDBHash {
  static constexpr KeyHash kScalar = LevelDBHash;
  static constexpr uint32_t kMultiplier = 0xc6a4a793;

  DELTABLOOM_TARGET static inline Lanes Start(size_t size) {
    return Vector::Set(kBloomHashSeed ^
                       static_cast<uint32_t>(size) * kMultiplier);
  }
  DELTABLOOM_TARGET static inline Lanes AddWord(Lanes h, Lanes word) {
    h = Vector::Mul(Vector::Add(h, word), Vector::Set(kMultiplier));
    return Vector::Xor(h, Vector::ShiftRight<16>(h));
  }
  DELTABLOOM_TARGET static inline Lanes AddTail(Lanes h, Lanes tail) {
    h = Vector::Mul(Vector::Add(h, tail), Vector::Set(kMultiplier));
    return Vector::Xor(h, Vector::ShiftRight<24>(h));
  }
  DELTABLOOM_TARGET static inline Lanes End(Lanes h) { return h; }
};

// Four vectors: the i-th holds the i-th word of each key's 16 bytes.
struct Words {
  Lanes word[4];
};

DELTABLOOM_TARGET inline Words LoadWords(const char* const* blocks) {
  Words in;
  for (size_t i = 0; i < 4; ++i) in.word[i] = Vector::Load16Each(blocks, i);
  const Lanes low01 = Vector::UnpackLow32(in.word[0], in.word[1]);
  const Lanes low23 = Vector::UnpackLow32(in.word[2], in.word[3]);
  const Lanes high01 = Vector::UnpackHigh32(in.word[0], in.word[1]);
  const Lanes high23 = Vector::UnpackHigh32(in.word[2], in.word[3]);
  return {{Vector::UnpackLow64(low01, low23),
           Vector::UnpackHigh64(low01, low23),
           Vector::UnpackLow64(high01, high23),
           Vector::UnpackHigh64(high01, high23)}};
}

// The last size % 16 bytes of each key, zeros behind them.
DELTABLOOM_TARGET inline Words LoadLastWords(const char* const* keys,
                                             size_t size) {
  const size_t rest = size % 16;
  alignas(64) char bytes[kLanes][16];
  const char* blocks[kLanes];
  std::memset(bytes, 0, sizeof(bytes));
  for (size_t i = 0; i < kLanes; ++i) {
    // Copies of a size known here are single moves.
    const char* from = keys[i] + (size - rest);
    char* to = bytes[i];
    if (rest & 8) {
      std::memcpy(to, from, 8);
      from += 8;
      to += 8;
    }
    if (rest & 4) {
      std::memcpy(to, from, 4);
      from += 4;
      to += 4;
    }
    if (rest & 2) {
      std::memcpy(to, from, 2);
      from += 2;
      to += 2;
    }
    if (rest & 1) *to = *from;
    blocks[i] = bytes[i];
  }
  return LoadWords(blocks);
}

template <typename H>
DELTABLOOM_TARGET inline Lanes HashOfEqualSizes(const char* const* keys,
                                                size_t size) {
  Lanes h = H::Start(size);
  const char* blocks[kLanes];
  size_t done = 0;
  for (; done + 16 <= size; done += 16) {
    for (size_t i = 0; i < kLanes; ++i) blocks[i] = keys[i] + done;
    const Words words = LoadWords(blocks);
    for (const Lanes& word : words.word) h = H::AddWord(h, word);
  }
  if (done < size) {
    const Words words = LoadLastWords(keys, size);
    const size_t whole = size % 16 / 4;
    for (size_t i = 0; i < whole; ++i) h = H::AddWord(h, words.word[i]);
    if (size % 4 != 0) h = H::AddTail(h, words.word[whole]);
  }
  return H::End(h);
}

// hashes has room for kBatch. n <= kBatch; hashes behind n are any.
template <typename H>
DELTABLOOM_TARGET inline void HashMany(KeyBatch keys, size_t n,
                                       uint32_t* hashes) {
  for (size_t from = 0; from < n; from += kLanes) {
    const size_t size = keys[from].size();
    const char* data[kLanes];
    size_t differences = 0;
    for (size_t i = 0; i < kLanes; ++i) {
      const std::string_view key = keys[std::min(from + i, n - 1)];
      differences |= key.size() ^ size;
      data[i] = key.data();
    }
    if (differences == 0) {
      Vector::Store(hashes + from, HashOfEqualSizes<H>(data, size));
      continue;
    }
    for (size_t i = from; i < std::min(from + kLanes, n); ++i) {
      const std::string_view key = keys[i];
      hashes[i] = H::kScalar(key.data(), key.size(), kBloomHashSeed);
    }
    for (size_t i = n; i < from + kLanes; ++i) hashes[i] = 0;
  }
}

}  // namespace
}  // namespace deltabloom::internal::classic

#endif  // DELTABLOOM_UTIL_LAYOUTS_CLASSIC_SIMD_HASH_INL_H_
