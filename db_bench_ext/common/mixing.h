// Pseudo-random numbers that are functions of their number: keys made from them
// need no memory and are the same in every run.
#pragma once

#include <cstdint>

namespace deltabloom::bench {

// 2^64 divided by the golden ratio: its multiples are spread evenly.
inline constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

// SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every bit of the
// result depends on every bit of x.
inline uint64_t Mix(uint64_t x) {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// A number in [0, bound) from a random one.
inline uint64_t Scale(uint64_t random, uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((Wide{random} * bound) >> 64);
}

// The numbers Mix(seed), Mix(seed + kGolden), ...
class MixedNumbers {
 public:
  explicit MixedNumbers(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    const uint64_t number = Mix(state_);
    state_ += kGolden;
    return number;
  }

  // Returns a number in [0, bound).
  uint64_t Below(uint64_t bound) { return Scale(Next(), bound); }

 private:
  uint64_t state_;
};

}  // namespace deltabloom::bench
