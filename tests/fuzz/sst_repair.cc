#include "tests/fuzz/sst_repair.h"

#include <cstring>

#include "table/sst/block.h"
#include "table/sst/sst.h"
#include "tests/fuzz/harness.h"
#include "util/coding.h"

namespace deltabloom::fuzz {
namespace {

using internal::LoadFixed32;
using internal::StoreFixed32;
using internal::StoreFixed64;

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
  internal::Cursor cursor({handles, kHandlesSize});
  internal::BlockHandle handle;
  if (!internal::TakeHandle(&cursor, &handle) ||
      !internal::TakeHandle(&cursor, &handle)) {
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
  const auto type = static_cast<internal::ChecksumType>(footer[0]);
  StoreFixed32(footer + 5,
               internal::BlockChecksum(type, {footer, kFooterSize}) +
                   internal::ChecksumContext(LoadFixed32(footer + 9), offset));
}

void RepairFooter(std::string* table) {
  if (table->size() < kFooterSize) return;
  char* const end = table->data() + table->size();
  if (internal::LoadFixed64(end - 8) == kLevelDBMagic) {
    FillUp(end - kOldFooterSize);
    return;
  }
  char* const footer = end - kFooterSize;
  StoreFixed64(end - 8, kBlockBasedMagic);
  footer[0] = static_cast<char>(static_cast<uint8_t>(footer[0]) %
                                (internal::kLastChecksumType + 1));
  StoreFixed32(end - 12, (LoadFixed32(end - 12) - 1) % 7 + 1);
  if (LoadFixed32(end - 12) >= 6) {
    RepairExtended(footer, table->size() - kFooterSize);
  } else {
    FillUp(footer + 1);
  }
}

}  // namespace

std::string TableBytes::Read(uint64_t offset, size_t n, char* dst) const {
  Check(n <= size_ && offset <= size_ - n);
  std::memcpy(dst, bytes_ + offset, n);
  last_offset_ = offset;
  last_size_ = n;
  return {};
}

void RepairTable(std::string* table) {
  RepairFooter(table);
  for (int i = 0; i < kMaxRepairs; ++i) {
    // What a walk that fails has read last is what it did not like.
    internal::SstFile file;
    const TableBytes source(table->data(), table->size());
    if (internal::WalkSst(source, &file).empty()) return;
    const uint64_t offset = source.last_offset();
    const size_t size = source.last_size();
    if (size < internal::kBlockTrailerSize ||
        offset + size > file.footer_offset) {
      return;
    }
    char* const block = table->data() + offset;
    const uint32_t checksum =
        internal::BlockChecksum(file.checksum, {block, size - 4}) +
        internal::ChecksumContext(file.checksum_base, offset);
    if (LoadFixed32(block + size - 4) == checksum) return;
    StoreFixed32(block + size - 4, checksum);
  }
}

}  // namespace deltabloom::fuzz
