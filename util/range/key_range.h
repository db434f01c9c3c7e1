// The keys of a scan, and the bytes that all of them share. docs/format.md,
// "Which prefixes", has the rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace deltabloom::internal::range {

// The order of a table's keys: that of their bytes, or its reverse. The values
// are stored.
enum class Order : uint8_t { kBytewise = 0, kReverse = 1 };

// The keys between two bounds in either order. The bounds must outlive it.
struct KeyRange {
  Order order = Order::kBytewise;
  // The bounds as bytes, the smaller one first: in the order of bytes lower,
  // which belongs to the range, and upper, which does not; in the reverse order
  // upper and lower.
  std::optional<std::string_view> smaller, larger;
  // The bytes with which all keys begin.
  std::string_view common;
  // Bounds in the wrong order leave no key. Such a range is not asked for.
  bool empty = false;
};

// The keys from `lower` on to before `upper`, in this order.
KeyRange RangeOfBounds(Order order, std::string_view lower,
                       std::optional<std::string_view> upper);

// The keys that begin with `prefix`.
KeyRange RangeOfPrefix(Order order, std::string_view prefix);

}  // namespace deltabloom::internal::range
