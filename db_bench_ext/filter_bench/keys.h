// The keys that are added and looked up. A key is a function of its number, so
// 100 million keys need no memory, and every lookup can use another key. A
// repeated key would train the branch predictor and keep its bits in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "rocksdb/slice.h"

namespace deltabloom::bench {

enum class KeyKind : uint8_t {
  kRandom,      // all bytes random
  kSequential,  // a constant prefix, then the number, big-endian
  kDecimal,     // the number in decimal, zeroes in front
};

// Keys number 0, 1, ... of one kind and size. Present keys are added, absent
// ones never; all are distinct. Structured absent keys lie between the present
// ones.
class KeyMaker {
 public:
  // The smallest key size: with fewer bytes a 32-bit hash could be perfect, and
  // a filter of it would look better than it is.
  static size_t SmallestSize(KeyKind kind) {
    return kind == KeyKind::kDecimal ? 16 : 8;
  }

  KeyMaker(KeyKind kind, size_t key_size, uint64_t seed)
      : kind_(kind), size_(key_size), seed_(Mix(seed + 1)) {}

  size_t size() const { return size_; }

  // Writes size() bytes.
  void Write(uint64_t number, bool present, char* key) const;

 private:
  KeyKind kind_;
  size_t size_;
  uint64_t seed_;
};

// Keys in consecutive memory, few enough for the near caches, as the key of a
// real lookup is.
class KeyChunk {
 public:
  static constexpr size_t kLookupBytes = size_t{16} << 10;

  explicit KeyChunk(const KeyMaker& maker, size_t bytes = kLookupBytes);

  size_t capacity() const { return capacity_; }
  char* data() { return keys_.data(); }

  rocksdb::Slice operator[](size_t i) const {
    return rocksdb::Slice(keys_.data() + i * key_size_, key_size_);
  }

  void Set(size_t i, const KeyMaker& maker, uint64_t number, bool present) {
    maker.Write(number, present, keys_.data() + i * key_size_);
  }

 private:
  size_t key_size_;
  size_t capacity_;
  std::vector<char> keys_;
};

// The first of `count` numbers of absent keys that no call returned before,
// from any thread.
uint64_t TakeAbsent(uint64_t count);

}  // namespace deltabloom::bench
