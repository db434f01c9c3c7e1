// Composite keys as databases have them, of which scans look up one group each:
// all orders of a user, one value of an index, the children of a folder.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "tests/random.h"
#include "tests/range/subject.h"
#include "util/hash64.h"

namespace deltabloom::test {

struct Schema {
  const char* name;
  // The first bytes of all keys of a group, and those of no others.
  std::string (*group)(uint64_t number);
  // The bytes after them.
  std::string (*rest)(Random* random);
};

inline std::ostream& operator<<(std::ostream& out, const Schema& that) {
  return out << that.name;
}

// The last `size` bytes of a number, in the order of numbers.
inline std::string Bytes(uint64_t number, size_t size = 8) {
  return BigEndian(number).substr(8 - size);
}

inline const Schema kPrefixScans[] = {
    {"SecondaryIndex",
     [](uint64_t number) {
       return Bytes(7, 4) + Bytes(internal::Remix64(number, 0));
     },
     [](Random* random) { return random->Key(8); }},
    {"Paths",
     [](uint64_t number) {
       return "/home/" + std::to_string(number % 97) + "/mail/" +
              std::to_string(number) + "/";
     },
     [](Random* random) { return std::to_string(random->Below(1'000'000)); }},
    {"UserOrderText",
     [](uint64_t number) { return "user:" + std::to_string(number) + ":"; },
     [](Random* random) {
       return "order:" + std::to_string(random->Below(1'000'000));
     }},
    {"UserOrderIntegers", [](uint64_t number) { return Bytes(number); },
     [](Random* random) { return Bytes(random->Below(1'000'000)); }},
    {"FieldsOfAKey",
     [](uint64_t number) {
       const std::string key = "key" + std::to_string(number);
       return "\x02ns" + Bytes(key.size(), 4) + key;
     },
     [](Random* random) {
       return Bytes(5) + "field" + std::to_string(random->Below(100));
     }},
};

inline const Schema kOtherPrefixScans[] = {
    {"DenseIndex", [](uint64_t number) { return Bytes(7, 4) + Bytes(number); },
     [](Random* random) { return random->Key(8); }},
    {"ReversedDomains",
     [](uint64_t number) {
       const uint64_t name = internal::Remix64(number, 0);
       return "com." + std::to_string(name % 100'000) + "." +
              std::to_string(number % 7) + "." + std::to_string(number) + "/";
     },
     [](Random* random) { return std::to_string(random->Below(1000)); }},
    {"SeveralKinds",
     [](uint64_t number) {
       constexpr const char* kKinds[] = {"a/", "item#", "session|", "x"};
       return kKinds[number / 2 % 4] + std::to_string(number) + "|";
     },
     [](Random* random) { return std::to_string(random->Below(1'000'000)); }},
    {"TextInGroupsOfEight",
     [](uint64_t number) {
       const std::string text = std::to_string(internal::Remix64(number, 1));
       std::string key = "t" + Bytes(101 + number % 3) + "_i" + Bytes(1);
       for (size_t i = 0; i <= text.size(); i += 8) {
         std::string part = text.substr(i, 8);
         const size_t zeros = 8 - part.size();
         key +=
             part + std::string(zeros, '\0') + static_cast<char>(255 - zeros);
       }
       return key;
     },
     [](Random* random) { return Bytes(random->Below(1 << 30)); }},
    {"SaltUserTime",
     [](uint64_t number) {
       return Bytes(internal::Remix64(number, 2) % 16, 2) + "u" +
              std::to_string(100'000'000 + number);
     },
     [](Random* random) { return Bytes(~random->Below(1 << 30)); }},
    {"TopicPartition",
     [](uint64_t number) {
       return "topic-" + std::to_string(number / 16) + Bytes(number % 16, 4);
     },
     [](Random* random) { return Bytes(random->Below(1 << 20)); }},
    {"TenantHour",
     [](uint64_t number) {
       return Bytes(number % 20 * 131, 4) +
              Bytes(1'700'000'000 / 3600 + number);
     },
     [](Random* random) {
       return Bytes(random->Below(3'600'000), 4) + random->Key(8);
     }},
    {"LongHash",
     [](uint64_t number) {
       std::string hash;
       for (const char byte : Bytes(internal::Remix64(number, 3))) {
         hash += "0123456789abcdef"[byte & 15];
         hash += "0123456789abcdef"[byte >> 4 & 15];
       }
       return hash + ".";
     },
     [](Random* random) { return "c" + std::to_string(random->Below(40)); }},
};

}  // namespace deltabloom::test
