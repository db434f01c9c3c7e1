// Any bytes as a table file: a walk that stays in the file, keeps no more than
// the file is long, and ends in one line that says what is wrong, or in filters
// that can be read and asked.
//
// Input: the table. The fuzzer's own changes are followed by a repair of the
// checksums, mostly, so that the content is read.
#include <algorithm>
#include <string>

#include "deltabloom/filter_block.h"
#include "deltabloom/filter_policy.h"
#include "table/framing.h"
#include "table/sst/sst.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/sst_repair.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace deltabloom;
using fuzz::Check;
using internal::BlockHandle;
using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;

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
  internal::ParsedFilter parsed;
  std::string why;
  internal::ParseSealed(contents, internal::ActiveCpu(), &parsed, &why);
  ExpectOneLine(why);
  fuzz::Ask(parsed, {"key", ""});
}

// Returns the bytes of the block, or none.
uint64_t ReadFilter(const internal::SstSource& source, const SstFile& file,
                    const SstFilter& filter, const BlockHandle& handle) {
  Check(handle.offset <= file.footer_offset &&
        handle.size <= file.footer_offset - handle.offset);
  std::string contents;
  const std::string error =
      internal::ReadBlock(source, file, handle, &contents);
  ExpectOneLine(error);
  if (error.empty()) AskFilter(filter, contents);
  return handle.size;
}

void ReadFilters(const internal::SstSource& source, const SstFile& file) {
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
    Check(internal::ForEachPartition(
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<char> bytes(data, data + size);
  const fuzz::TableBytes source(bytes.data(), bytes.size());
  SstFile file;
  const std::string error = internal::WalkSst(source, &file);
  ExpectOneLine(error);
  if (!error.empty()) return 0;
  std::string_view text;
  uint64_t number;
  file.properties.Text("rocksdb.filter.policy", &text);
  file.properties.Number("rocksdb.num.entries", &number);
  ReadFilters(source, file);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;
  std::string table(reinterpret_cast<const char*>(data), size);
  fuzz::RepairTable(&table);
  std::copy(table.begin(), table.end(), data);
  return size;
}
