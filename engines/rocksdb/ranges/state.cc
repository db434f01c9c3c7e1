#include "engines/rocksdb/ranges/state.h"

#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/prefix_functions.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/range/filter_builder.h"
#include "util/range/key_range.h"
#include "util/range/prefixes_option.h"

namespace deltabloom {

std::string RocksDBRangeOptions::Validate() const {
  return internal::ParsedRangeOptions().Set(*this);
}

namespace internal {

using range::Order;

std::string ParsedRangeOptions::Set(const RocksDBRangeOptions& from) {
  static_cast<RocksDBRangeOptions&>(*this) = from;
  if (!(bits_per_key >= range::kLeastBits && bits_per_key <= kMaxBitsPerKey)) {
    return "bits_per_key = " + NumberText(bits_per_key) +
           " is out of range: use 2 to 1000";
  }
  if (max_table_bytes == 0) {
    return "max_table_bytes = 0 is out of range: use 1 or more";
  }
  const std::string wrong =
      range::ParsePrefixes(prefixes, FindPrefixFunction, &places);
  if (!wrong.empty()) return wrong;
  prefixes = range::PrefixesText(places);
  order.reset();
  if (key_order == "bytewise") {
    order = Order::kBytewise;
  } else if (key_order == "reverse_bytewise") {
    order = Order::kReverse;
  } else if (key_order != "comparator") {
    return "key_order = " + key_order +
           " is unknown: use comparator, bytewise or reverse_bytewise";
  }
  transform = nullptr;
  if (key_transform == kNoTransform) return {};
  transform = FindKeyTransform(key_transform);
  if (transform == nullptr) {
    return "key_transform = " + key_transform +
           " is not registered: use none, or one of " + KeyTransformNames();
  }
  key_transform = transform->text;
  if (order) {
    return "key_order = " + key_order +
           " does not go with key_transform = " + key_transform +
           ", whose results are in the order of bytes: use comparator";
  }
  return {};
}

std::optional<Order> ParsedRangeOptions::OrderOf(
    std::string_view comparator) const {
  if (order) return order;
  const auto is = [comparator](std::string_view name) {
    return comparator.substr(0, name.size()) == name &&
           (comparator.size() == name.size() ||
            comparator.substr(name.size()) == ".u64ts");
  };
  if (is("leveldb.BytewiseComparator")) return Order::kBytewise;
  if (is("rocksdb.ReverseBytewiseComparator")) return Order::kReverse;
  return std::nullopt;
}

std::optional<Order> ParsedRangeOptions::FilterOrderOf(
    std::string_view comparator) const {
  return transform == nullptr ? OrderOf(comparator) : Order::kBytewise;
}

}  // namespace internal
}  // namespace deltabloom
