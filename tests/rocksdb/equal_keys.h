// Comparators under which keys of different bytes are equal, the key transforms
// that they need, and a comparator with timestamps.
#ifndef DELTABLOOM_TESTS_ROCKSDB_EQUAL_KEYS_H_
#define DELTABLOOM_TESTS_ROCKSDB_EQUAL_KEYS_H_

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/key_transform.h"
#include "rocksdb/comparator.h"
#include "tests/rocksdb/test_db.h"
#include "util/coding.h"

namespace deltabloom::testing {

// One kind of equality: the part of a key that is compared, and spellings of
// equal keys.
struct Equality {
  const char* name;
  const char* transform;  // as the option key_transform
  std::string (*compared)(std::string_view key);
  // The `n`-th spelling of a key; they differ in bytes.
  std::string (*spell)(const std::string& key, unsigned n);
};

// The order of the bytes of what is compared.
class EqualityComparator : public Comparator {
 public:
  explicit EqualityComparator(const Equality& equality)
      : equality_(equality), name_(std::string("test.") + equality.name) {}

  const char* Name() const override { return name_.c_str(); }
  int Compare(const Slice& a, const Slice& b) const override {
    return equality_.compared({a.data(), a.size()})
        .compare(equality_.compared({b.data(), b.size()}));
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const Equality equality_;
  const std::string name_;
};

// What is compared in the order of its bytes, then the newest timestamp first.
class TimestampComparator final : public Comparator {
 public:
  explicit TimestampComparator(
      const char* name, std::string (*compared)(std::string_view) = nullptr)
      : Comparator(8), name_(name), compared_(compared) {}
  const char* Name() const override { return name_; }
  int Compare(const Slice& a, const Slice& b) const override {
    const int keys = CompareWithoutTimestamp(a, true, b, true);
    return keys != 0 ? keys : -CompareTimestamp(Time(a), Time(b));
  }
  using Comparator::CompareWithoutTimestamp;
  int CompareWithoutTimestamp(const Slice& a, bool a_has_time, const Slice& b,
                              bool b_has_time) const override {
    return Compared(a, a_has_time).compare(Compared(b, b_has_time));
  }
  int CompareTimestamp(const Slice& a, const Slice& b) const override {
    const uint64_t x = internal::LoadFixed64(a.data());
    const uint64_t y = internal::LoadFixed64(b.data());
    return x < y ? -1 : x > y;
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static Slice Time(const Slice& key) {
    return {key.data() + key.size() - 8, 8};
  }
  std::string Compared(const Slice& key, bool has_time) const {
    const std::string_view user(key.data(), key.size() - (has_time ? 8 : 0));
    return compared_ == nullptr ? std::string(user) : compared_(user);
  }

  const char* const name_;
  std::string (*const compared_)(std::string_view);
};

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

// Keys end in 8 bytes that are not compared; shorter ones are all equal.
inline constexpr Equality kSuffixTimestamp = {
    "suffix_timestamp", "test.drop_timestamp",
    [](std::string_view key) {
      return std::string(
          key.substr(0, key.size() - std::min<size_t>(key.size(), 8)));
    },
    [](const std::string& key, unsigned n) {
      std::string timestamp(8, '\0');
      for (char& c : timestamp) {
        c = static_cast<char>(n);
        n /= 3;
      }
      return key + timestamp;
    }};

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
  static const bool done =
      RegisterForTest("test.drop_timestamp", 1, kSuffixTimestamp.compared) &&
      RegisterForTest("test.lowercase_too", 1, Lower) &&
      RegisterForTest("test.lowercase_too", 3, Lower) &&
      RegisterForTest("test.lowercase_too", 2, Lower);
  EXPECT_TRUE(done);
}

inline PolicyPtr PolicyWith(const std::string& key_transform,
                            const std::string& layout = "auto",
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

#endif  // DELTABLOOM_TESTS_ROCKSDB_EQUAL_KEYS_H_
