#include "db_bench_ext/demo/keys.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::demo {

using bench::Mix;

namespace {

int HalfBits(uint64_t size) {
  int bits = 2;
  while (bits < 62 && (uint64_t{1} << bits) < size) bits += 2;
  return bits / 2;
}

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t seed)
    : size_(size), seed_(Mix(seed)), half_bits_(HalfBits(size)) {}

// A Feistel network permutes a power of two; numbers that fall outside are
// sent through again until they land inside.
uint64_t Permutation::operator()(uint64_t i) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  do {
    uint64_t left = i >> half_bits_;
    uint64_t right = i & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = Mix(seed_ + (round << 56) + right) & mask;
      left = std::exchange(right, left ^ mixed);
    }
    i = left << half_bits_ | right;
  } while (i >= size_);
  return i;
}

std::vector<std::string> KeySet::ReadWords(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word);) {
    if (!word.empty() && word.find(' ') == std::string::npos) {
      words.push_back(std::move(word));
    }
  }
  // The file is nearly in order, which merging makes use of.
  std::stable_sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  if (words.size() < 1000) {
    throw std::runtime_error(path + ": found " + std::to_string(words.size()) +
                             " words, need 1000 or more: install the package "
                             "wamerican-huge");
  }
  return words;
}

KeySet::KeySet(std::vector<std::string> words, uint64_t size, uint64_t seed)
    : words_(std::move(words)),
      size_(size),
      word_every_(
          std::max<uint64_t>(5, (size + words_.size() - 1) / words_.size())),
      word_order_(words_.size(), seed),
      pair_order_(words_.size() * words_.size(), seed ^ Mix(1)) {
  const uint64_t pairs = uint64_t{words_.size()} * words_.size();
  if (size_ + (uint64_t{1} << 32) > pairs && size_ * 2 > pairs) {
    throw std::runtime_error("too few words for " + std::to_string(size) +
                             " keys");
  }
}

std::string KeySet::Pair(uint64_t number) const {
  const uint64_t pair = pair_order_(number);
  const std::string& first = words_[pair / words_.size()];
  const std::string& second = words_[pair % words_.size()];
  std::string key;
  key.reserve(first.size() + 1 + second.size());
  key.append(first).append(1, ' ').append(second);
  return key;
}

std::string KeySet::Key(uint64_t i) const {
  if (i % word_every_ == 0) return words_[word_order_(i / word_every_)];
  return Pair(i);
}

// Keys use pair numbers below size_ only.
std::string KeySet::AbsentKey(uint64_t j) const {
  const uint64_t pairs = uint64_t{words_.size()} * words_.size();
  return Pair(size_ + j % (pairs - size_));
}

std::string KeySet::Value(std::string_view key) {
  uint64_t state = key.size();
  for (const char c : key) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  std::string value(kValueBytes, '\0');
  for (size_t at = 0; at < kValueBytes; at += sizeof(state)) {
    state = Mix(state);
    std::memcpy(&value[at], &state, sizeof(state));
  }
  return value;
}

}  // namespace deltabloom::demo
