// What builder and reader of filter blocks share (docs/format.md).
#ifndef DELTABLOOM_TABLE_FILTER_BLOCK_FORMAT_H_
#define DELTABLOOM_TABLE_FILTER_BLOCK_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace deltabloom::internal {

inline constexpr unsigned kMaxBaseLg = 63;
inline constexpr uint64_t kFilterOffsetSize = 4;
inline constexpr uint64_t kFilterBlockFooterSize = 5;  // array_offset, base_lg

// A window that has keys but no filter for them holds this many zero bytes.
// No filter of a key is shorter, none of this size has other meaning.
inline constexpr size_t kNoFilterSize = 2;

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_FILTER_BLOCK_FORMAT_H_
