// A small immutable table file with a filter block, as an engine of your own
// might have it: data blocks of sorted entries, then a tail with the filter
// block and the index. A lookup of an absent key reads no data block.
//
//   c++ -std=c++17 main.cc $(pkg-config --cflags --libs deltabloom)
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <ios>
#include <map>
#include <ostream>
#include <string>
#include <string_view>

#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"

namespace {

constexpr size_t kBlockSize = 4096;

// Numbers in the machine's byte order; a real format defines one.
void PutNumber(std::string* dst, uint64_t number) {
  dst->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

uint64_t GetNumber(const char** from) {
  uint64_t number;
  std::memcpy(&number, *from, sizeof(number));
  *from += sizeof(number);
  return number;
}

void PutString(std::string* dst, std::string_view string) {
  PutNumber(dst, string.size());
  dst->append(string);
}

std::string_view GetString(const char** from) {
  const uint64_t size = GetNumber(from);
  const std::string_view string(*from, size);
  *from += size;
  return string;
}

bool WriteTable(const char* path,
                const std::map<std::string, std::string>& entries,
                const deltabloom::FilterPolicy& policy) {
  deltabloom::FilterBlockBuilder filters(&policy);
  std::string table, index;
  size_t begin = 0;  // of the block
  filters.StartBlock(begin);
  for (const auto& [key, value] : entries) {
    filters.AddKey(key);
    PutString(&table, key);
    PutString(&table, value);
    if (table.size() - begin < kBlockSize && key != entries.rbegin()->first) {
      continue;
    }
    PutString(&index, key);
    PutNumber(&index, begin);
    PutNumber(&index, table.size() - begin);
    begin = table.size();
    filters.StartBlock(begin);  // where the next block starts
  }
  // The name says who can read the filters, so it is stored with them. A real
  // format also stores a checksum.
  PutString(&table, policy.Name());
  PutString(&table, filters.Finish());
  PutString(&table, index);
  PutNumber(&table, begin);
  std::ofstream file(path, std::ios::binary);
  file << table << std::flush;
  return file.good() && filters.error().empty();
}

class Table {
 public:
  Table(const char* path, const deltabloom::FilterPolicy* policy)
      : file_(path, std::ios::binary | std::ios::ate), filters_(policy, "") {
    const auto end = static_cast<uint64_t>(file_.tellg());
    const std::string last = Read(end - 8, 8);
    const char* from = last.data();
    const uint64_t tail_offset = GetNumber(&from);
    tail_ = Read(tail_offset, end - tail_offset);
    from = tail_.data();
    const std::string_view name = GetString(&from);
    const std::string_view filters = GetString(&from);
    // Filters of another policy stay unused: then every key may match.
    if (name == policy->Name()) filters_ = {policy, filters};
    const std::string_view index = GetString(&from);
    for (from = index.data(); from < index.data() + index.size();) {
      Block& block = index_[std::string(GetString(&from))];
      block.offset = GetNumber(&from);
      block.size = GetNumber(&from);
    }
  }

  bool Get(const std::string& key, std::string* value) {
    const auto entry = index_.lower_bound(key);
    if (entry == index_.end()) return false;
    const Block& block = entry->second;
    if (!filters_.KeyMayMatch(block.offset, key)) return false;

    const std::string data = Read(block.offset, block.size);
    ++data_blocks_read;
    for (const char* from = data.data(); from < data.data() + data.size();) {
      const bool found = GetString(&from) == key;
      *value = GetString(&from);
      if (found) return true;
    }
    return false;
  }

  int data_blocks_read = 0;

 private:
  struct Block {
    uint64_t offset, size;
  };

  std::string Read(uint64_t offset, uint64_t size) {
    std::string bytes(size, '\0');
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(&bytes[0], static_cast<std::streamsize>(size));
    return bytes;
  }

  std::ifstream file_;
  std::string tail_;  // holds the filters
  deltabloom::FilterBlockReader filters_;
  std::map<std::string, Block> index_;  // by last key
};

std::string Key(int i) { return "key" + std::to_string(1000000 + i); }

}  // namespace

int main() {
  constexpr int kKeys = 10000;  // the even numbers
  std::map<std::string, std::string> entries;
  for (int i = 0; i < kKeys; ++i) entries[Key(2 * i)] = "some value";
  const auto policy = deltabloom::NewBloomFilterPolicy(10);
  if (!WriteTable("example.table", entries, *policy)) return 1;

  Table table("example.table", policy.get());
  std::string value;
  int found = 0;
  for (int i = 0; i < kKeys; ++i) found += table.Get(Key(2 * i), &value);
  std::printf("%d keys: %d found, %d data blocks read\n", kKeys, found,
              table.data_blocks_read);
  table.data_blocks_read = 0;
  for (int i = 0; i < kKeys; ++i) found += table.Get(Key(2 * i + 1), &value);
  std::printf("%d absent keys: %d data blocks read\n", kKeys,
              table.data_blocks_read);
  return found == kKeys ? 0 : 1;
}
