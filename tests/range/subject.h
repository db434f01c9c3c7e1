// Keys and ranges for tests of range filters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/random.h"

namespace deltabloom::test {

// The 8 bytes of a number, in the order of numbers.
inline std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 8; i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number);
  }
  return bytes;
}

// Keys of one kind after the other, many of each kind near each other.
struct KeyKind {
  const char* name;
  std::string (*key)(Random*);
};

inline std::string FromBytes(Random* random, size_t size,
                             std::string_view bytes) {
  std::string key(size, '\0');
  for (char& byte : key) byte = bytes[random->Below(bytes.size())];
  return key;
}

inline const std::vector<KeyKind>& KeyKinds() {
  using namespace std::string_view_literals;
  static const auto& kinds = *new std::vector<KeyKind>{
      {"any bytes, any size",
       [](Random* random) { return random->Key(random->Below(12)); }},
      {"few bytes: 00, ff and prefixes of each other",
       [](Random* random) {
         return FromBytes(random, random->Below(9), "\x00\xff"sv);
       }},
      {"00, 01, a, b, fe, ff",
       [](Random* random) {
         return FromBytes(random, random->Below(7),
                          "\x00\x01"
                          "ab\xfe\xff"sv);
       }},
      {"long common beginnings",
       [](Random* random) {
         return FromBytes(random, 300 * random->Below(3), "x"sv) +
                FromBytes(random, random->Below(3), "xyz"sv) +
                std::string(random->Below(4) * 30, 'y') +
                random->Key(random->Below(3));
       }},
      {"64-bit integers", [](Random* random) { return random->Key(8); }},
      {"64-bit integers in clusters",
       [](Random* random) {
         return BigEndian((random->Below(20) << 40) +
                          random->Below(uint64_t{1} << random->Below(20)));
       }},
      {"integers of all sizes",
       [](Random* random) {
         return BigEndian(random->Next() >> random->Below(64));
       }},
      {"the ends of the integers",
       [](Random* random) {
         const uint64_t near = random->Below(300);
         return BigEndian(random->Below(2) == 0 ? near : ~near);
       }},
      {"decimal digits",
       [](Random* random) {
         std::string digits =
             std::to_string(random->Below(uint64_t{1} << random->Below(30)));
         return "user" + std::string(12 - digits.size(), '0') + digits + ":x";
       }},
      {"few bits",
       [](Random* random) { return FromBytes(random, 20, "\x00\x01"sv); }},
      {"three bytes", [](Random* random) { return random->Key(3); }},
      {"16 bytes",
       [](Random* random) {
         return BigEndian(random->Below(50)) + random->Key(8);
       }},
      {"slashes, also alone and beside each other",
       [](Random* random) {
         return FromBytes(random, random->Below(30), "/////ab\xff"sv);
       }},
      {"words in groups of 8 bytes with a marker",
       [](Random* random) {
         std::string key;
         for (uint64_t i = random->Below(3); i > 0; --i) {
           std::string word = FromBytes(random, random->Below(12), "ab"sv);
           for (; word.size() >= 8; word.erase(0, 8)) {
             key += word.substr(0, 8) + '\xff';
           }
           const auto marker = static_cast<char>(0xf7 + word.size());
           word.resize(8);
           key += word + marker;
         }
         return key;
       }},
      {"words behind their size",
       [](Random* random) {
         const std::string space = FromBytes(random, random->Below(3), "ns"sv);
         const std::string word = FromBytes(random, random->Below(3), "ab"sv);
         return static_cast<char>(space.size()) + space +
                BigEndian(word.size()).substr(4) + word +
                BigEndian(random->Below(3)) +
                FromBytes(random, random->Below(3), "xy"sv);
       }},
      {"paths",
       [](Random* random) {
         std::string path = "https://www.";
         for (uint64_t i = random->Below(6); i > 0; --i) {
           path += FromBytes(random, 1 + random->Below(2), "abz-"sv) + "/";
         }
         return path;
       }},
  };
  return kinds;
}

// Keys, their neighbours, and what lies between: where errors would be.
inline std::string BoundNear(const std::vector<std::string>& keys,
                             const KeyKind& kind, Random* random) {
  std::string bound = random->Below(3) == 0 ? kind.key(random)
                                            : keys[random->Below(keys.size())];
  switch (random->Below(8)) {
    case 0:
      bound.push_back('\0');
      break;
    case 1:
      bound.push_back(static_cast<char>(random->Next()));
      break;
    case 2:
      if (!bound.empty()) bound.resize(random->Below(bound.size() + 1));
      break;
    case 3:
      if (!bound.empty()) ++bound.back();
      break;
    case 4:
      if (!bound.empty()) --bound.back();
      break;
    case 5:
      if (!bound.empty()) {
        bound[random->Below(bound.size())] = static_cast<char>(random->Next());
      }
      break;
    default:
      break;
  }
  return bound;
}

// The smallest text that is larger than all that begin with `prefix`.
inline std::string NextPrefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

struct Range {
  std::string lower, upper;
};

// A range near the keys: between bounds near keys, of a prefix, of one key, of
// a few numbers.
inline Range RangeNear(const std::vector<std::string>& keys,
                       const KeyKind& kind, Random* random) {
  std::string lower = BoundNear(keys, kind, random);
  std::string upper;
  switch (random->Below(6)) {
    case 0:
      upper = NextPrefix(lower);
      break;
    case 1:
      upper = lower + std::string(1 + random->Below(3), '\0');
      break;
    case 2:  // up to a key, which is part of it
      upper = keys[random->Below(keys.size())] + '\0';
      break;
    case 3:  // most other ranges of numbers are too long to be empty
      upper = lower;
      if (!upper.empty()) {
        upper.back() = static_cast<char>(upper.back() | 0x3f);
      }
      break;
    default:
      upper = BoundNear(keys, kind, random);
  }
  if (upper < lower) lower.swap(upper);
  return {lower, upper};
}

}  // namespace deltabloom::test
