#include "engines/rocksdb/ranges/property.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr char kPropertyVersion = 2;
constexpr size_t kEntriesSize = 8;

// Takes a text behind its size; false if it is not there.
bool TakeText(std::string_view* bytes, std::string_view* text) {
  if (bytes->empty()) return false;
  const size_t size = static_cast<unsigned char>(bytes->front());
  if (bytes->size() < 1 + size) return false;
  *text = bytes->substr(1, size);
  bytes->remove_prefix(1 + size);
  return true;
}

}  // namespace

std::string RangePropertyHeader(const RangeProperty& property) {
  std::string header{kPropertyVersion};
  header.push_back(static_cast<char>(property.timestamp_size));
  for (const std::string_view text :
       {property.transform, property.comparator}) {
    header.push_back(static_cast<char>(text.size()));
    header.append(text);
  }
  const size_t entries_at = header.size();
  header.resize(entries_at + kEntriesSize);
  StoreFixed64(&header[entries_at], property.entries);
  return header;
}

bool ParseRangeProperty(std::string_view bytes, RangeProperty* property) {
  if (bytes.size() < 2 || bytes[0] != kPropertyVersion) return false;
  property->timestamp_size = static_cast<unsigned char>(bytes[1]);
  bytes.remove_prefix(2);
  if (!TakeText(&bytes, &property->transform) ||
      !TakeText(&bytes, &property->comparator) || bytes.size() < kEntriesSize) {
    return false;
  }
  property->entries = LoadFixed64(bytes.data());
  property->filter = bytes.substr(kEntriesSize);
  return true;
}

}  // namespace deltabloom::internal
