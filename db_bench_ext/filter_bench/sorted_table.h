// A table as far as its filters see it: keys in order, data blocks, an index.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_SORTED_TABLE_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_SORTED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/filter_bench/keys.h"

namespace deltabloom::bench {

// Keys of one size in ascending order, end to end.
class SortedKeys {
 public:
  explicit SortedKeys(size_t key_size) : key_size_(key_size) {}

  // The present keys number 0 .. n - 1 of `maker`.
  SortedKeys(const KeyMaker& maker, uint64_t n);

  size_t size() const { return bytes_.size() / key_size_; }
  size_t key_size() const { return key_size_; }
  std::string_view operator[](size_t i) const {
    return {bytes_.data() + i * key_size_, key_size_};
  }

  // REQUIRES: no key so far is larger.
  void Append(std::string_view key) { bytes_.append(key); }

  // The first key that is not smaller, by binary search, as the index of a
  // table finds a block by its last key; size() if there is none.
  size_t Find(std::string_view key) const {
    size_t low = 0;
    size_t high = size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if ((*this)[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  size_t key_size_;
  std::string bytes_;
};

struct DataBlock {
  uint64_t offset;  // in the file
  size_t first;     // keys first .. end - 1
  size_t end;
};

struct SortedTable {
  static constexpr size_t kBlockSize = 4096;
  // Value, and the sizes of key and value.
  static constexpr size_t kEntryOverhead = 84;

  SortedTable(const KeyMaker& maker, uint64_t n);

  SortedKeys keys;
  std::vector<DataBlock> blocks;
  SortedKeys index;  // the last key of every block
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_SORTED_TABLE_H_
