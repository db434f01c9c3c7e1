#include "engines/rocksdb/base/filter_total.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "engines/rocksdb/base/options.h"
#include "table/framing.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

uint64_t FilterBytesOf(const std::vector<TableKeys>& tables,
                       const PolicyOptions& options) {
  const LayoutRow* const layout = FindLayout(options.layout);
  uint64_t bytes = 0;
  for (const TableKeys& table : tables) {
    const uint32_t millibits = table.bottommost
                                   ? options.MillibitsPerKey()
                                   : options.UpperMillibitsPerKey();
    if (table.keys == 0 || millibits < kMinMillibitsPerKey) continue;
    bytes += PlanFilter(layout, table.keys, millibits).payload_size +
             kSealedFramingSize;
  }
  return bytes;
}

bool FitTotal(const std::vector<TableKeys>& tables, uint64_t bytes,
              PolicyOptions* options) {
  PolicyOptions tried = *options;
  tried.upper_bits_per_key.reset();
  const auto fits = [&](uint32_t millibits) {
    tried.bits_per_key = millibits / 1000.0;
    return FilterBytesOf(tables, tried) <= bytes;
  };
  uint32_t most = kMinMillibitsPerKey;
  if (!fits(most)) return false;
  uint32_t too_many = kMaxMillibits + 1;
  while (too_many - most > 1) {
    const uint32_t middle = most + (too_many - most) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  tried.bits_per_key = most / 1000.0;
  *options = std::move(tried);
  return true;
}

}  // namespace deltabloom::internal
