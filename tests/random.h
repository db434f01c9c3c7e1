// Random numbers and keys for tests: the same everywhere for the same seed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace deltabloom::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // SplitMix64 (Steele, Lea, Flood 2014).
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Returns a number in [0, end).
  uint64_t Below(uint64_t end) { return Next() % end; }

  std::string Key(size_t size) {
    std::string key(size, '\0');
    for (char& byte : key) byte = static_cast<char>(Next() >> 56);
    return key;
  }

  std::vector<std::string> Keys(size_t n, size_t size) {
    std::vector<std::string> keys(n);
    for (std::string& key : keys) key = Key(size);
    return keys;
  }

  // Keys whose sizes vary from 0 to 40, with a few longer ones.
  std::vector<std::string> MixedKeys(size_t n) {
    std::vector<std::string> keys(n);
    for (std::string& key : keys) {
      key = Key(Below(50) == 0 ? 100 + Below(200) : Below(41));
    }
    return keys;
  }

 private:
  uint64_t state_;
};

// A fresh seed, or the one in the environment variable DELTABLOOM_SEED.
inline uint64_t SeedOfThisRun() {
  const char* wish = std::getenv("DELTABLOOM_SEED");
  if (wish != nullptr) return std::strtoull(wish, nullptr, 10);
  return std::random_device()();
}

// Seeded anew at every run; failures in its scope name the seed.
class FreshRandom : public Random {
 public:
  explicit FreshRandom(uint64_t from = SeedOfThisRun())
      : Random(from),
        seed(from),
        trace_(__FILE__, __LINE__, "DELTABLOOM_SEED=" + std::to_string(from)) {}

  const uint64_t seed;

 private:
  const ::testing::ScopedTrace trace_;
};

// `usual`, or a seed made of it and DELTABLOOM_SEED: for tests that are the
// same at every run unless others are requested.
inline uint64_t SeedOr(uint64_t usual) {
  const char* wish = std::getenv("DELTABLOOM_SEED");
  return wish == nullptr ? usual : usual + std::strtoull(wish, nullptr, 10);
}

}  // namespace deltabloom::test
