#include "engines/rocksdb/ranges/property.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr char kPropertyVersion = 1;
// Version, size of timestamps, size of the transform's name.
constexpr size_t kFixedSize = 3;
constexpr size_t kEntriesSize = 8;

size_t ByteOf(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

std::string RangePropertyHeader(const RangeProperty& property) {
  std::string header{kPropertyVersion};
  header.push_back(static_cast<char>(property.timestamp_size));
  header.push_back(static_cast<char>(property.transform.size()));
  header.append(property.transform);
  const size_t entries_at = header.size();
  header.resize(entries_at + kEntriesSize);
  StoreFixed64(&header[entries_at], property.entries);
  return header;
}

bool ParseRangeProperty(std::string_view bytes, RangeProperty* property) {
  if (bytes.size() < kFixedSize || bytes[0] != kPropertyVersion) return false;
  property->timestamp_size = ByteOf(bytes, 1);
  const size_t transform_size = ByteOf(bytes, 2);
  bytes.remove_prefix(kFixedSize);
  if (bytes.size() < transform_size + kEntriesSize) return false;
  property->transform = bytes.substr(0, transform_size);
  property->entries = LoadFixed64(bytes.data() + transform_size);
  property->filter = bytes.substr(transform_size + kEntriesSize);
  return true;
}

}  // namespace deltabloom::internal
