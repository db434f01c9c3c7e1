// Sets of keys for tests of range filters, and what is true about them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/random.h"
#include "util/range/cut.h"
#include "util/range/filter_builder.h"
#include "util/range/range.h"

namespace deltabloom::test {

using KeySet = std::set<std::string>;

inline bool AnyKeyIn(const KeySet& keys, const std::string& lower,
                     const std::string& upper) {
  const auto key = keys.lower_bound(lower);
  return key != keys.end() && *key < upper;
}

// Ranges to learn from.
using Samples = std::vector<internal::range::Range>;

// Empty if the builder refuses.
inline std::string FilterOf(const KeySet& keys, double bits_per_key,
                            const Samples& samples = {},
                            std::vector<internal::range::Cut> cuts = {},
                            uint64_t range_length = 0) {
  internal::range::FilterBuilder builder(bits_per_key, range_length);
  builder.SetCuts(std::move(cuts));
  for (const auto& [lower, upper] : samples) {
    builder.AddSample(lower, upper);
  }
  for (const std::string& key : keys) builder.AddKey(key);
  std::string bytes;
  builder.Finish(&bytes);
  return bytes;
}

// The 8 bytes of a number, in the order of numbers.
inline std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 8; i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number);
  }
  return bytes;
}

inline uint64_t NumberOf(std::string_view key) {
  uint64_t number = 0;
  for (const char byte : key.substr(0, 8)) number = number << 8 | (byte & 0xff);
  return number;
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

// A range near the keys: between bounds near keys, of a prefix, of one key, of
// a few numbers.
inline internal::range::Range RangeNear(const std::vector<std::string>& keys,
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
