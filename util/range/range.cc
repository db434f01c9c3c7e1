#include "util/range/range.h"

#include <string_view>

#include "util/range/bytes.h"

namespace deltabloom::internal::range {

RangeView::RangeView(std::string_view from, std::string_view to)
    : lower(from), upper(to), equal(CommonPrefix(from, to)), common(equal) {
  if (upper.size() != common + 1 || lower.size() <= common ||
      ByteAt(upper, common) != ByteAt(lower, common) + 1) {
    return;
  }
  // `upper` follows all keys that begin like `lower` up to here; after it only
  // the largest bytes are not below `lower`.
  ++common;
  while (common < lower.size() && ByteAt(lower, common) == 0xff) ++common;
}

}  // namespace deltabloom::internal::range
