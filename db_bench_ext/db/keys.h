// The keys of a database: 16 bytes each, computed from their numbers and a
// seed, so that no key is stored.
#ifndef DELTABLOOM_DB_BENCH_EXT_DB_KEYS_H_
#define DELTABLOOM_DB_BENCH_EXT_DB_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deltabloom::db_reads {

class KeySet {
 public:
  // REQUIRES: 0 < size < 2^40.
  KeySet(uint64_t size, uint64_t seed) : size_(size), seed_(seed) {}

  uint64_t size() const { return size_; }
  uint64_t seed() const { return seed_; }

  // Key number i: a mixed number, which spreads keys evenly over the key space,
  // and i itself.
  std::string Key(uint64_t i) const;

  // A key outside the set, a different one for every j < 2^40.
  std::string AbsentKey(uint64_t j) const;

  // The end of a range from `key` on that contains a key of the set with a
  // chance of 1/64.
  std::string RangeEnd(std::string_view key) const;

  // The value that is stored under a key.
  static std::string Value(std::string_view key, size_t bytes);

 private:
  uint64_t size_;
  uint64_t seed_;
};

}  // namespace deltabloom::db_reads

#endif  // DELTABLOOM_DB_BENCH_EXT_DB_KEYS_H_
