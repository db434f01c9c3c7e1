#include "util/range/key_range.h"

#include <cstddef>
#include <optional>
#include <string_view>

#include "util/range/bytes.h"

namespace deltabloom::internal::range {
namespace {

// Returns the end of the 0xff bytes that begin at `at`.
size_t EndOfMaxBytes(std::string_view text, size_t at) {
  while (at < text.size() && ByteAt(text, at) == 0xff) ++at;
  return at;
}

// Returns how many bytes of lower all keys share with it, in the order of
// bytes; `shared` are those of both bounds.
size_t SharedBytes(std::string_view lower, std::string_view upper,
                   size_t shared) {
  // All keys from "a/x" on to before "a0" begin with "a/": the byte in which
  // upper is larger by one cannot grow without reaching it.
  if (upper.size() == shared + 1 && lower.size() > shared &&
      ByteAt(upper, shared) == ByteAt(lower, shared) + 1) {
    return EndOfMaxBytes(lower, shared + 1);
  }
  return shared;
}

}  // namespace

KeyRange RangeOfBounds(Order order, std::string_view lower,
                       std::optional<std::string_view> upper) {
  KeyRange range;
  range.order = order;
  size_t shared = upper ? CommonPrefix(lower, *upper) : 0;
  if (order == Order::kBytewise) {
    range.smaller = lower;
    range.larger = upper;
    range.empty = upper && !IsSmaller(lower, *upper, shared);
    shared =
        upper ? SharedBytes(lower, *upper, shared) : EndOfMaxBytes(lower, 0);
  } else {
    range.smaller = upper;
    range.larger = lower;
    range.empty = upper && !IsSmaller(*upper, lower, shared);
  }
  range.common = lower.substr(0, shared);
  return range;
}

KeyRange RangeOfPrefix(Order order, std::string_view prefix) {
  KeyRange range;
  range.order = order;
  range.smaller = prefix;
  range.common = prefix;
  return range;
}

}  // namespace deltabloom::internal::range
