// The partition index of a filter (docs/format.md, "Partition index").
#include "table/sst/read_block.h"
#include "table/sst/sst.h"

namespace deltabloom::internal {
namespace {

// The difference of two sizes, small ones of either sign in few bytes.
uint64_t UnZigZag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

// The handle of an entry, from its value and the handle before.
std::string TakePartition(bool delta_encoded, bool shares_key, Cursor* value,
                          BlockHandle* handle) {
  uint64_t difference;
  if (!delta_encoded || !shares_key) {
    if (!TakeHandle(value, handle)) {
      return "expected a handle, found no valid varint64";
    }
  } else if (value->Varint64(&difference)) {
    handle->offset += handle->size + kBlockTrailerSize;
    handle->size += UnZigZag(difference);
  } else {
    return "expected a difference of sizes, found no valid varint64";
  }
  if (!delta_encoded && value->Left() > 0) {
    return "expected nothing behind a handle, found " +
           std::to_string(value->Left()) + " bytes";
  }
  return {};
}

}  // namespace

std::string ForEachPartition(const SstSource& source, const SstFile& file,
                             const SstFilter& filter, const PartitionFn& fn) {
  std::string index;
  std::string error = ReadBlock(source, file, filter.handle, &index);
  // A filter that no key came to has an index of no bytes.
  if (!error.empty() || index.empty()) return error;
  uint64_t delta_encoded = 0;
  file.properties.Number("rocksdb.index.value.is.delta.encoded",
                         &delta_encoded);
  BlockHandle handle;
  error =
      ForEachEntry(index, delta_encoded == 0,
                   [&](std::string_view key, bool shares_key, Cursor* value) {
                     std::string wrong = TakePartition(
                         delta_encoded != 0, shares_key, value, &handle);
                     if (wrong.empty()) wrong = CheckHandle(file, handle);
                     return wrong.empty() ? fn(key, handle) : wrong;
                   });
  if (!error.empty()) {
    return At(source, filter.handle.offset) + "partition index: " + error;
  }
  return {};
}

}  // namespace deltabloom::internal
