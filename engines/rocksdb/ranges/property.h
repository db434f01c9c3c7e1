// The table property that holds a range filter. docs/format.md, chapter
// "Range filters in RocksDB", defines its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deltabloom::internal {

// The name of the property and of the collector. Never changes.
inline constexpr char kRangePropertyName[] = "deltabloom.range";

struct RangeProperty {
  // The bytes that were cut off the end of each key, as RocksDB's timestamps.
  size_t timestamp_size = 0;
  // NAME@VERSION of the key transform, or nothing.
  std::string_view transform;
  // The name of the table's comparator.
  std::string_view comparator;
  // The entries of the table that the filter has seen, range tombstones apart.
  uint64_t entries = 0;
  // A range filter.
  std::string_view filter;
};

// The bytes before the filter. A timestamp or name of more than 255 bytes is
// cut, so that no scan uses the filter.
std::string RangePropertyHeader(const RangeProperty& property);

// False, and *property undefined, if the bytes are damaged or of another
// version. The filter may still be damaged.
bool ParseRangeProperty(std::string_view bytes, RangeProperty* property);

}  // namespace deltabloom::internal
