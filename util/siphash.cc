#include "util/siphash.h"

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr int kWordRounds = 2;
constexpr int kFinalRounds = 4;

uint64_t RotateLeft(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}

// Four words, named as in the paper.
class State {
 public:
  // "somepseudorandomlygeneratedbytes", big-endian.
  explicit State(const SipHashKey& key)
      : v0_(key.low ^ 0x736f6d6570736575),
        v1_(key.high ^ 0x646f72616e646f6d),
        v2_(key.low ^ 0x6c7967656e657261),
        v3_(key.high ^ 0x7465646279746573) {}

  void Add(uint64_t word) {
    v3_ ^= word;
    for (int i = 0; i < kWordRounds; ++i) Round();
    v0_ ^= word;
  }

  uint64_t Finish() {
    v2_ ^= 0xff;
    for (int i = 0; i < kFinalRounds; ++i) Round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void Round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = RotateLeft(v1_, 13) ^ v0_;
    v3_ = RotateLeft(v3_, 16) ^ v2_;
    v0_ = RotateLeft(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = RotateLeft(v1_, 17) ^ v2_;
    v3_ = RotateLeft(v3_, 21) ^ v0_;
    v2_ = RotateLeft(v2_, 32);
  }

  uint64_t v0_, v1_, v2_, v3_;
};

// The last word: what is left of the data, and the size in the highest byte.
uint64_t LastWord(std::string_view data) {
  uint64_t word = uint64_t{data.size()} << 56;
  const size_t left = data.size() % 8;
  for (size_t i = 0; i < left; ++i) {
    word |= uint64_t{static_cast<unsigned char>(data[data.size() - left + i])}
            << (8 * i);
  }
  return word;
}

}  // namespace

SipHashKey LoadSipHashKey(const void* bytes) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  return {LoadFixed64(at), LoadFixed64(at + 8)};
}

void StoreSipHashKey(void* bytes, const SipHashKey& key) {
  auto* at = static_cast<unsigned char*>(bytes);
  StoreFixed64(at, key.low);
  StoreFixed64(at + 8, key.high);
}

uint64_t SipHash(const SipHashKey& key, std::string_view data) {
  State state(key);
  for (size_t i = 0; i + 8 <= data.size(); i += 8) {
    state.Add(LoadFixed64(data.data() + i));
  }
  state.Add(LastWord(data));
  return state.Finish();
}

}  // namespace deltabloom::internal
