// Comparators under which keys of different bytes are equal, and the key
// transforms that go with them.
#ifndef DELTABLOOM_TESTS_ROCKSDB_EQUAL_KEYS_H_
#define DELTABLOOM_TESTS_ROCKSDB_EQUAL_KEYS_H_

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>

#include "deltabloom/key_transform.h"
#include "rocksdb/comparator.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {

// One kind of equality: what of a key counts, and another spelling of it.
struct Equality {
  const char* name;
  const char* transform;  // as the option key_transform
  std::string (*counts)(std::string_view key);
  // The `n`-th spelling of a key; they differ in bytes.
  std::string (*spell)(const std::string& key, unsigned n);
};

// Puts what counts in the order of its bytes.
class EqualityComparator : public rocksdb::Comparator {
 public:
  explicit EqualityComparator(const Equality& equality)
      : equality_(equality), name_(std::string("test.") + equality.name) {}

  const char* Name() const override { return name_.c_str(); }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return equality_.counts({a.data(), a.size()})
        .compare(equality_.counts({b.data(), b.size()}));
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const Equality equality_;
  const std::string name_;
};

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

// Keys end in 8 bytes that do not count; shorter ones are all the same.
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

// Registers a function that returns what counts.
inline bool RegisterForTest(const std::string& name, uint32_t version,
                            std::string (*counts)(std::string_view key),
                            std::string* error = nullptr) {
  KeyTransform transform;
  transform.name = name;
  transform.version = version;
  transform.function = [counts](std::string_view key, KeyScratch* scratch) {
    const std::string bytes = counts(key);
    char* const copy = scratch->Reserve(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy);
    return std::string_view(copy, bytes.size());
  };
  return RegisterKeyTransform(transform, error);
}

inline void RegisterTransformsOfTests() {
  static const bool done =
      RegisterForTest("test.drop_timestamp", 1, kSuffixTimestamp.counts) &&
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

inline DbConfig ConfigFor(const rocksdb::Comparator& comparator,
                          PolicyPtr policy, bool partitioned = false) {
  return {policy, partitioned,
          [&comparator](rocksdb::Options* options,
                        rocksdb::BlockBasedTableOptions*) {
            options->comparator = &comparator;
          }};
}

// GetAll of the first keys, in upper case.
inline Lookups GetUpper(rocksdb::DB* db, int keys) {
  Lookups result;
  const auto statistics = db->GetOptions().statistics;
  statistics->Reset();
  const auto upper = [](std::string key) {
    for (char& c : key) c = static_cast<char>(std::toupper(c));
    return key;
  };
  for (int i = 0; i < keys; ++i) {
    std::string value;
    result.missed += !db->Get({}, upper(Key(2 * i)), &value).ok();
    result.phantom += !db->Get({}, upper(Key(2 * i + 1)), &value).IsNotFound();
  }
  result.useful = statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  return result;
}

}  // namespace deltabloom::testing

#endif  // DELTABLOOM_TESTS_ROCKSDB_EQUAL_KEYS_H_
