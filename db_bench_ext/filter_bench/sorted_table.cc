#include "db_bench_ext/filter_bench/sorted_table.h"

#include <algorithm>

namespace deltabloom::bench {

SortedKeys::SortedKeys(const KeyMaker& maker, uint64_t n)
    : key_size_(maker.size()) {
  std::vector<std::string> keys(n, std::string(key_size_, '\0'));
  for (uint64_t i = 0; i < n; ++i) maker.Write(i, true, keys[i].data());
  std::sort(keys.begin(), keys.end());
  bytes_.reserve(n * key_size_);
  for (const std::string& key : keys) bytes_.append(key);
}

SortedTable::SortedTable(const KeyMaker& maker, uint64_t n)
    : keys(maker, n), index(maker.size()) {
  const size_t entry_size = maker.size() + kEntryOverhead;
  const size_t keys_per_block = (kBlockSize + entry_size - 1) / entry_size;
  uint64_t offset = 0;
  for (size_t first = 0; first < keys.size(); first += keys_per_block) {
    const size_t end = std::min(keys.size(), first + keys_per_block);
    blocks.push_back({offset, first, end});
    index.Append(keys[end - 1]);
    offset += (end - first) * entry_size;
  }
}

}  // namespace deltabloom::bench
