// Walks any bytes as a table file. The walk stays in the file, keeps no more
// than the file is long, and ends in one line that says what is wrong, or in
// filters that can be read and queried.
//
// Input: the table. The fuzzer's own changes are followed by a repair of the
// checksums, mostly, so that the content is read.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"
#include "table/framing.h"
#include "tools/sst/sst.h"
#include "tests/fuzz/harness.h"
#include "util/coding.h"
#include "util/cpu.h"
#include "util/parsed_filter.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace deltabloom::fuzz {
namespace {

using namespace internal;

// A table in memory, which remembers what was read last.
class TableBytes final : public SstSource {
 public:
  explicit TableBytes(std::string_view bytes) : bytes_(bytes) {}

  const std::string& Name() const override { return name_; }
  uint64_t Size() const override { return bytes_.size(); }
  std::string Read(uint64_t offset, size_t n, char* dst) const override {
    Check(n <= bytes_.size() && offset <= bytes_.size() - n);
    std::memcpy(dst, bytes_.data() + offset, n);
    last_read_ = {offset, n};
    return {};
  }

  BlockHandle last_read() const { return last_read_; }

 private:
  const std::string name_ = "table";
  const std::string_view bytes_;
  mutable BlockHandle last_read_;
};

void ExpectOneLine(const std::string& error) {
  Check(error.find('\n') == std::string::npos && error.size() < 1000);
}

void AskFilter(const SstFilter& filter, std::string_view contents) {
  if (filter.scope == FilterScope::kPerBlock) {
    const auto policy = NewBloomFilterPolicy(10);
    const FilterBlockReader reader(policy.get(), contents);
    reader.KeyMayMatch(0, "key");
    reader.Describe();
    return;
  }
  ParsedFilter parsed;
  std::string why;
  ParseSealed(contents, ActiveCpu(), nullptr, &parsed, &why);
  ExpectOneLine(why);
  Ask(parsed, {"key", ""});
}

// Returns the bytes of the block, or none.
uint64_t ReadFilter(const SstSource& source, const SstFile& file,
                    const SstFilter& filter, const BlockHandle& handle) {
  Check(handle.offset <= file.footer_offset &&
        handle.size <= file.footer_offset - handle.offset);
  std::string contents;
  const std::string error = ReadBlock(source, file, handle, &contents);
  ExpectOneLine(error);
  if (error.empty()) AskFilter(filter, contents);
  return handle.size;
}

void ReadFilters(const SstSource& source, const SstFile& file) {
  uint64_t names = 0;
  uint64_t bytes = 0;
  for (const SstFilter& filter : file.filters) {
    names += filter.policy.size();
    bytes += filter.bytes;
    if (filter.scope != FilterScope::kPartitioned) {
      ReadFilter(source, file, filter, filter.handle);
      continue;
    }
    uint64_t partitions = 0;
    uint64_t partition_bytes = 0;
    Check(ForEachPartition(
              source, file, filter,
              [&](std::string_view last_key, const BlockHandle& handle) {
                ++partitions;
                partition_bytes += ReadFilter(source, file, filter, handle);
                return last_key.size() <= 22 * source.Size()
                           ? std::string()
                           : std::string("a key longer than its block");
              })
              .empty());
    Check(partitions == filter.partitions && partition_bytes == filter.bytes);
  }
  // The metaindex may be compressed, 22 times at best.
  Check(names <= 23 * source.Size() && bytes <= source.Size());
}

constexpr uint64_t kLevelDBMagic = 0xdb4775248b80fb57;
constexpr uint64_t kBlockBasedMagic = 0x88e241b785f4cff7;
constexpr size_t kHandlesSize = 40;
constexpr size_t kOldFooterSize = kHandlesSize + 8;
constexpr size_t kFooterSize = 1 + kHandlesSize + 12;

// A walk reads the footer, metaindex, properties, the indexes of partitions and
// the index; more repairs than that are of a table that has many filters.
constexpr int kMaxRepairs = 40;

// Zeros after the two handles.
void FillUp(char* handles) {
  Cursor cursor({handles, kHandlesSize});
  BlockHandle handle;
  if (!TakeHandle(&cursor, &handle) || !TakeHandle(&cursor, &handle)) {
    return;
  }
  std::memset(handles + kHandlesSize - cursor.Left(), 0, cursor.Left());
}

// The fields of format_version 6 and 7; the base of context checksums stays.
void RepairExtended(char* footer, uint64_t offset) {
  static constexpr unsigned char kMagic[] = {0x3e, 0, 0x7a, 0};
  std::memcpy(footer + 1, kMagic, sizeof(kMagic));
  if (LoadFixed32(footer + 9) == 0) footer[9] = 1;
  StoreFixed64(footer + 33, 0);
  StoreFixed32(footer + 5, 0);
  const auto type = static_cast<ChecksumType>(footer[0]);
  StoreFixed32(footer + 5,
               BlockChecksum(type, {footer, kFooterSize}) +
                   ChecksumContext(LoadFixed32(footer + 9), offset));
}

void RepairFooter(std::string* table) {
  if (table->size() < kFooterSize) return;
  char* const end = table->data() + table->size();
  if (LoadFixed64(end - 8) == kLevelDBMagic) {
    FillUp(end - kOldFooterSize);
    return;
  }
  char* const footer = end - kFooterSize;
  StoreFixed64(end - 8, kBlockBasedMagic);
  footer[0] = static_cast<char>(static_cast<uint8_t>(footer[0]) %
                                (kLastChecksumType + 1));
  StoreFixed32(end - 12, (LoadFixed32(end - 12) - 1) % 7 + 1);
  if (LoadFixed32(end - 12) >= 6) {
    RepairExtended(footer, table->size() - kFooterSize);
  } else {
    FillUp(footer + 1);
  }
}

// Makes the checksums and the footer of a damaged table right again, so that a
// walk gets past them to what was changed. Keeps the size.
void RepairTable(std::string* table) {
  RepairFooter(table);
  for (int i = 0; i < kMaxRepairs; ++i) {
    // When a walk fails, the block that it read last is the one that it
    // rejected.
    SstFile file;
    const TableBytes source(*table);
    if (WalkSst(source, &file).empty()) return;
    const auto [offset, size] = source.last_read();
    if (size < kBlockTrailerSize || offset + size > file.footer_offset) {
      return;
    }
    char* const block = table->data() + offset;
    const uint32_t checksum = BlockChecksum(file.checksum, {block, size - 4}) +
                              ChecksumContext(file.checksum_base, offset);
    if (LoadFixed32(block + size - 4) == checksum) return;
    StoreFixed32(block + size - 4, checksum);
  }
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  const TableBytes source(bytes);
  SstFile file;
  const std::string error = WalkSst(source, &file);
  ExpectOneLine(error);
  if (!error.empty()) return;
  std::string_view text;
  uint64_t number;
  file.properties.Text("rocksdb.filter.policy", &text);
  file.properties.Number("rocksdb.num.entries", &number);
  ReadFilters(source, file);
}

}  // namespace deltabloom::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;
  std::string table(reinterpret_cast<const char*>(data), size);
  deltabloom::fuzz::RepairTable(&table);
  std::copy(table.begin(), table.end(), data);
  return size;
}
