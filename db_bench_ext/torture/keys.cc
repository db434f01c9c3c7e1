#include "db_bench_ext/torture/keys.h"

#include <cctype>
#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::torture {

namespace {

constexpr char kSeparator = '+';  // between the parts of a merged value
constexpr size_t kNumberSize = 16;

template <typename Number>
bool ParseDigits(std::string_view text, Number* number, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, *number, base);
  return error == std::errc() && next == end;
}

// Letters and digits that depend on the seed.
std::string Filling(uint64_t seed, size_t size) {
  bench::MixedNumbers numbers(seed);
  std::string text(size, '\0');
  for (char& letter : text) {
    letter = "abcdefghijklmnopqrstuvwxyz012345"[numbers.Below(32)];
  }
  return text;
}

}  // namespace

std::string FamilyName(uint32_t slot, uint32_t generation) {
  if (slot == 0) return "default";
  return "slot" + std::to_string(slot) + "." + std::to_string(generation);
}

bool ParseFamilyName(std::string_view name, uint32_t* slot,
                     uint32_t* generation) {
  if (name == "default") {
    *slot = 0;
    *generation = 0;
    return true;
  }
  if (name.size() < 7 || name.substr(0, 4) != "slot" || name[5] != '.') {
    return false;
  }
  *slot = static_cast<uint32_t>(name[4] - '0');
  return *slot > 0 && *slot < kSlots && ParseDigits(name.substr(6), generation);
}

// "k0012-3-abc": the group, the key in it, and 0 to 40 bytes of filling, so
// that all ranges of key sizes of the hashes occur.
std::string KeyText(uint32_t slot, uint32_t key) {
  char text[24];
  std::snprintf(text, sizeof(text), "k%04u-%02u", key / kKeysPerGroup,
                key % kKeysPerGroup);
  const uint64_t seed = bench::Mix((uint64_t{slot} << 32) | key);
  return text + Filling(seed, seed % 41);
}

std::string AbsentKeyText(uint32_t slot, uint32_t key) {
  return KeyText(slot, key) + "~";
}

std::string WithCapitals(std::string text, uint64_t random) {
  bench::MixedNumbers numbers(random);
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z' && numbers.Below(2) == 0) {
      letter = static_cast<char>(letter - 'a' + 'A');
    }
  }
  return text;
}

std::string WithoutCapitals(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') {
      letter = static_cast<char>(letter - 'A' + 'a');
    }
  }
  return text;
}

bool ParseKey(uint32_t slot, std::string_view text, uint32_t* key) {
  uint32_t group = 0;
  uint32_t member = 0;
  if (text.size() < 8 || !ParseDigits(text.substr(1, 4), &group) ||
      !ParseDigits(text.substr(6, 2), &member)) {
    return false;
  }
  *key = group * kKeysPerGroup + member;
  return *key < kKeys &&
         WithoutCapitals(std::string(text)) == KeyText(slot, *key);
}

std::string ValueText(uint64_t id) {
  char text[kNumberSize + 1];
  std::snprintf(text, sizeof(text), "%016" PRIx64, id);
  const uint64_t seed = bench::Mix(id);
  return text + Filling(seed, seed % 120);
}

std::string Merged(const std::optional<std::string>& value,
                   std::string_view operand) {
  if (!value) return std::string(operand);
  return *value + kSeparator + std::string(operand);
}

std::string DescribeValue(const std::optional<std::string>& value) {
  if (!value) return "no value";
  std::string text;
  size_t begin = 0;
  while (begin <= value->size()) {
    const size_t end = std::min(value->find(kSeparator, begin), value->size());
    const std::string part = value->substr(begin, end - begin);
    uint64_t id = 0;
    const bool whole =
        part.size() >= kNumberSize &&
        ParseDigits(std::string_view(part).substr(0, kNumberSize), &id, 16) &&
        part == ValueText(id);
    if (!text.empty()) text += " + ";
    text += whole ? "write " + std::to_string(id) : "bytes of no write";
    begin = end + 1;
  }
  return text;
}

}  // namespace deltabloom::torture
