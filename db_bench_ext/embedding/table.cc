#include "db_bench_ext/embedding/table.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace deltabloom::embedding {

KeySets MakeKeys(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::array<char, kKeySize>> keys(2 * n);
  for (auto& key : keys) {
    for (char& byte : key) byte = static_cast<char>(random());
  }
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return std::string_view(a.data(), kKeySize) <
           std::string_view(b.data(), kKeySize);
  });
  std::string present;
  std::string absent;
  for (size_t i = 0; i < n; ++i) {
    absent.append(keys[2 * i].data(), kKeySize);
    present.append(keys[2 * i + 1].data(), kKeySize);
  }
  return {Keys(std::move(present)), Keys(std::move(absent))};
}

Keys Shuffled(const Keys& keys, size_t limit, uint64_t seed) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  order.resize(std::min(limit, order.size()));
  std::string bytes;
  for (size_t i : order) bytes.append(keys[i]);
  return Keys(std::move(bytes));
}

std::vector<Block> CutIntoBlocks(size_t keys) {
  constexpr size_t kKeysPerBlock = (kBlockSize + kEntrySize - 1) / kEntrySize;
  std::vector<Block> blocks;
  uint64_t offset = 0;
  for (size_t first = 0; first < keys; first += kKeysPerBlock) {
    const size_t end = std::min(keys, first + kKeysPerBlock);
    blocks.push_back({offset, first, end});
    offset += (end - first) * kEntrySize;
  }
  return blocks;
}

}  // namespace deltabloom::embedding
