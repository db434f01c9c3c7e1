// Keys of 16 bytes, spread evenly over the whole key space and computed from
// their numbers: the first half is a pseudo-random bijection of the number.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_KEYS_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_KEYS_H_

#include <rocksdb/slice.h>

#include <cstddef>
#include <cstdint>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::levels {

// Numbers from here on are never inserted; those of a database are below.
inline constexpr uint64_t kFirstAbsent = uint64_t{1} << 40;
// Numbers from here on are those of filters outside any database.
inline constexpr uint64_t kFirstApart = uint64_t{1} << 41;

class Key {
 public:
  static constexpr size_t kBytes = 16;

  Key(uint64_t number, uint64_t seed) {
    Store(bench::Mix(number ^ bench::Mix(seed)), bytes_);
    Store(number, bytes_ + 8);
  }

  rocksdb::Slice slice() const { return {bytes_, kBytes}; }

 private:
  // Big-endian: the order of keys is that of the mixed numbers.
  static void Store(uint64_t word, char* to) {
    for (int i = 7; i >= 0; --i, word >>= 8) {
      to[i] = static_cast<char>(word & 0xff);
    }
  }

  char bytes_[kBytes];
};

// Where a key lies in the key space: the share of it that is below.
inline double Position(const rocksdb::Slice& key) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) {
    word =
        word << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0u);
  }
  return static_cast<double>(word) * 0x1p-64;
}

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_KEYS_H_
