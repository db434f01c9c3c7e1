#include "engines/rocksdb/ranges/property.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "util/range/bytes.h"

namespace deltabloom::internal {

static constexpr char kPropertyVersion = 2;

std::string RangePropertyHeader(const RangeProperty& property) {
  std::string header{kPropertyVersion};
  range::AppendNumber(property.timestamp_size, 1, &header);
  for (std::string_view text : {property.transform, property.comparator}) {
    text = text.substr(0, 255);
    range::AppendNumber(text.size(), 1, &header);
    header.append(text);
  }
  range::AppendNumber(property.entries, 8, &header);
  return header;
}

bool ParseRangeProperty(std::string_view bytes, RangeProperty* property) {
  range::Reader reader(bytes);
  const bool known = reader.Number<1>() == kPropertyVersion;
  property->timestamp_size = static_cast<size_t>(reader.Number<1>());
  property->transform = reader.Text<1>();
  property->comparator = reader.Text<1>();
  property->entries = reader.Number<8>();
  property->filter = reader.rest();
  return known && reader.ok();
}

}  // namespace deltabloom::internal
