#include "table/sst/properties.h"

#include "table/sst/block.h"

namespace deltabloom::internal {
namespace {

constexpr std::string_view kGlobalSequenceNumber =
    "rocksdb.external_sst_file.global_seqno";

// Of several properties of one name the last one counts, as in RocksDB.
bool Find(std::string_view block, std::string_view name,
          std::string_view* value) {
  bool found = false;
  ForEachEntry(block, true, [&](std::string_view key, bool, Cursor* bytes) {
    if (key == name) found = bytes->Bytes(bytes->Left(), value);
    return std::string();
  });
  return found;
}

}  // namespace

std::string SstProperties::Parse(std::string block) {
  std::string error = ForEachEntry(
      block, true,
      [](std::string_view, bool, Cursor*) { return std::string(); });
  block_.clear();
  if (error.empty()) block_ = std::move(block);
  return error;
}

bool SstProperties::Text(std::string_view name, std::string_view* value) const {
  return Find(block_, name, value);
}

bool SstProperties::Number(std::string_view name, uint64_t* value) const {
  std::string_view text;
  if (!Find(block_, name, &text)) return false;
  Cursor cursor(text);
  return cursor.Varint64(value) && cursor.Left() == 0;
}

std::string_view FindGlobalSequenceNumber(std::string_view block) {
  std::string_view number;
  if (!Find(block, kGlobalSequenceNumber, &number) || number.size() != 8) {
    return {};
  }
  return number;
}

}  // namespace deltabloom::internal
