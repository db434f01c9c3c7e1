// Composite keys as databases have them, of which scans look up one group each:
// all orders of a user, one value of an index, the children of a folder.
#ifndef DELTABLOOM_TESTS_RANGE_SCHEMAS_H_
#define DELTABLOOM_TESTS_RANGE_SCHEMAS_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "tests/random.h"
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
  std::string bytes(size, '\0');
  for (size_t i = size; i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number);
  }
  return bytes;
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

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_RANGE_SCHEMAS_H_
