// The key set of the demo: English words and pairs of them ("zebra finch"),
// drawn without repetition in a pseudo-random order that depends only on the
// seed. No key is stored; each is computed from its number.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_KEYS_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::demo {

inline constexpr char kWordFile[] = "/usr/share/dict/american-english-huge";

// A pseudo-random order of the numbers 0 .. size-1.
class Permutation {
 public:
  // REQUIRES: 0 < size < 2^62.
  Permutation(uint64_t size, uint64_t seed);

  // The number at position i; REQUIRES i < size.
  uint64_t operator()(uint64_t i) const;

 private:
  uint64_t size_;
  uint64_t seed_;
  int half_bits_;
};

class KeySet {
 public:
  // The distinct words of a file with one word per line; throws
  // std::runtime_error if it cannot be read or holds fewer than 1000.
  static std::vector<std::string> ReadWords(const std::string& path);

  // REQUIRES: words are distinct and hold no space; size > 0.
  KeySet(std::vector<std::string> words, uint64_t size, uint64_t seed);

  uint64_t size() const { return size_; }

  // Key number i of those to insert, i < size(), in insertion order.
  std::string Key(uint64_t i) const;

  // A key that is none of them, another for every j < 2^32.
  std::string AbsentKey(uint64_t j) const;

  // What is stored under a key.
  static std::string Value(std::string_view key);

  static constexpr size_t kValueBytes = 64;

 private:
  std::string Pair(uint64_t number) const;

  std::vector<std::string> words_;
  uint64_t size_;
  uint64_t word_every_;  // every so many-th key is a word, the others are pairs
  Permutation word_order_;
  Permutation pair_order_;
};

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_KEYS_H_
