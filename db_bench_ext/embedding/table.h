// A table as far as its filters see it: keys in order, data blocks, an index.
#ifndef DELTABLOOM_DB_BENCH_EXT_EMBEDDING_TABLE_H_
#define DELTABLOOM_DB_BENCH_EXT_EMBEDDING_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::embedding {

inline constexpr size_t kKeySize = 16;
inline constexpr size_t kEntrySize = 100;  // key, value and their sizes
inline constexpr size_t kBlockSize = 4096;

// Random keys of kKeySize bytes, one behind the other.
class Keys {
 public:
  explicit Keys(std::string bytes) : bytes_(std::move(bytes)) {}
  size_t size() const { return bytes_.size() / kKeySize; }
  std::string_view operator[](size_t i) const {
    return {bytes_.data() + i * kKeySize, kKeySize};
  }

 private:
  std::string bytes_;
};

// In order: of 2n random keys every second is present, the others are absent
// and lie between them.
struct KeySets {
  Keys present;
  Keys absent;
};
KeySets MakeKeys(size_t n, uint64_t seed);

// The same keys in random order, at most `limit` of them.
Keys Shuffled(const Keys& keys, size_t limit, uint64_t seed);

struct Block {
  uint64_t offset;  // in the file
  size_t first;     // keys first .. end - 1
  size_t end;
};
std::vector<Block> CutIntoBlocks(size_t keys);

// The last key of each part of the keys; finds the part of a key by binary
// search, as the index of a table does.
class Index {
 public:
  void Add(std::string_view last_key) { last_keys_.append(last_key); }

  // The part that may hold the key; the number of parts if none can.
  size_t Find(std::string_view key) const {
    size_t low = 0;
    size_t high = last_keys_.size() / kKeySize;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (std::string_view(&last_keys_[middle * kKeySize], kKeySize) < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  std::string last_keys_;
};

}  // namespace deltabloom::embedding

#endif  // DELTABLOOM_DB_BENCH_EXT_EMBEDDING_TABLE_H_
