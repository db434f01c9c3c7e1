// Comparators under which keys of different bytes are equal, the key transforms
// that they need, and timestamps.
#pragma once

#include <cctype>
#include <string_view>

#include "deltabloom/key_transform.h"
#include "rocksdb/comparator.h"
#include "tests/rocksdb/test_db.h"
#include "util/coding.h"

namespace deltabloom::testing {

// A kind of equality: the part of a key that is compared, and spellings of
// equal keys.
struct Equality {
  const char* name;
  const char* transform;  // as the option key_transform
  std::string (*compared)(std::string_view key);
  // The `n`-th spelling of a key; they differ in bytes.
  std::string (*spell)(const std::string& key, unsigned n);
};

// Keys in the order of the bytes of what is compared.
class TestComparator final : public Comparator {
 public:
  using Compared = std::string (*)(std::string_view key);

  TestComparator(const std::string& name, Compared compared)
      : name_("test." + name), compared_(compared) {}
  explicit TestComparator(const Equality& equality)
      : TestComparator(equality.name, equality.compared) {}

  const char* Name() const override { return name_.c_str(); }
  int Compare(const Slice& a, const Slice& b) const override {
    return compared_(a.ToStringView()).compare(compared_(b.ToStringView()));
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const std::string name_;
  const Compared compared_;
};

// Bytewise, with timestamps of 8 bytes.
inline const Comparator* TimestampComparator() {
  const Comparator* comparator = nullptr;
  EXPECT_OK(Comparator::CreateFromString(
      ConfigOptions(), "leveldb.BytewiseComparator.u64ts", &comparator));
  return comparator;
}

inline std::string Timestamp(uint64_t time) {
  std::string bytes(sizeof(time), '\0');
  internal::StoreFixed64(bytes.data(), time);
  return bytes;
}

inline std::string Lower(std::string_view key) {
  std::string lower(key);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return lower;
}

inline constexpr Equality kIgnoreCase = {
    "ignore_case", "ascii_lowercase", Lower,
    [](const std::string& key, unsigned n) {
      std::string spelt = key;
      for (char& c : spelt) {
        if (n % 2 == 1) c = static_cast<char>(std::toupper(c));
        n = n / 2 + (n % 2) * 8;
      }
      return spelt;
    }};

inline constexpr Equality kPadSpace = {
    "pad_space", "trim_trailing_spaces",
    [](std::string_view key) {
      while (!key.empty() && key.back() == ' ') key.remove_suffix(1);
      return std::string(key);
    },
    [](const std::string& key, unsigned n) {
      return key + std::string(n % 16, ' ');
    }};

// Keys that are equal under a transform that the tests register themselves.
inline constexpr Equality kCustom = {"custom", "test.lowercase_too", Lower,
                                     kIgnoreCase.spell};

// Registers a function that returns what is compared.
inline bool RegisterForTest(const std::string& name, uint32_t version,
                            std::string (*compared)(std::string_view key),
                            std::string* error = nullptr) {
  KeyTransform transform;
  transform.name = name;
  transform.version = version;
  transform.function = [compared](std::string_view key, KeyScratch* scratch) {
    const std::string bytes = compared(key);
    char* const copy = scratch->Reserve(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy);
    return std::string_view(copy, bytes.size());
  };
  return RegisterKeyTransform(transform, error);
}

inline void RegisterTransformsOfTests() {
  static const bool done = RegisterForTest("test.lowercase_too", 1, Lower) &&
                           RegisterForTest("test.lowercase_too", 3, Lower) &&
                           RegisterForTest("test.lowercase_too", 2, Lower);
  EXPECT_TRUE(done);
}

inline PolicyPtr PolicyWith(const std::string& key_transform,
                            const std::string& layout = "compact",
                            bool seeded = false) {
  RegisterTransformsOfTests();
  return PolicyFromString("id=deltabloom:10:" + layout +
                          ";key_transform=" + key_transform +
                          ";seeded=" + (seeded ? "true" : "false"));
}

inline Options OptionsFor(const Comparator& comparator, PolicyPtr policy,
                          bool partitioned = false,
                          const Change& change = nullptr) {
  return MakeOptions({std::move(policy), partitioned,
                      [&](Options* options, BlockBasedTableOptions* table) {
                        options->comparator = &comparator;
                        if (change) change(options, table);
                      }});
}

inline std::string Upper(std::string key) {
  for (char& c : key) c = static_cast<char>(std::toupper(c));
  return key;
}

}  // namespace deltabloom::testing
