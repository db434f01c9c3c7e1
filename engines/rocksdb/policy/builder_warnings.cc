#include "engines/rocksdb/policy/builder_warnings.h"

#include <atomic>
#include <cstdint>
#include <string>

#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/policy/filter_size.h"
#include "rocksdb/env.h"
#include "util/json.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {
namespace {

template <typename Message>
void WarnOnce(std::atomic<bool>* warned, rocksdb::Logger* log,
              const Message& message) {
  if (log == nullptr || warned->exchange(true)) return;
  // If memory has run out, the flag stays false, so the next filter warns.
  *warned = WithoutThrowing(
      [&] { rocksdb::Warn(log, "[deltabloom] %s", message().c_str()); });
}

}  // namespace

void BuilderWarnings::WarnOf(const FilterBits& bits, uint64_t keys,
                             const LayoutRow& layout, uint64_t max_filter_bytes,
                             rocksdb::Logger* log) {
  const auto keys_text = [keys] { return std::to_string(keys) + " keys"; };
  const auto limit = [max_filter_bytes] {
    return "max_filter_bytes=" + std::to_string(max_filter_bytes);
  };
  const uint64_t many = layout.many_keys;
  if (many != 0 && keys > many) {
    WarnOnce(&many_keys_, log, [&] {
      return keys_text() + " in one " + layout.name + " filter: beyond some " +
             std::to_string(many / 1'000'000) +
             " million its hash adds false positives; use another layout or "
             "partitioned filters";
    });
  }
  if (bits.millibits_per_key == 0) {
    WarnOnce(&no_filter_, log, [&] {
      return "no filter for " + keys_text() + ", " + limit() +
             " leaves less than 2 bits per key: use a higher limit, smaller "
             "tables or partitioned filters";
    });
  } else if (bits.lowered) {
    WarnOnce(&lowered_bits_, log, [&] {
      return NumberText(bits.millibits_per_key / 1000.0, 3) +
             " bits per key in a filter of " + keys_text() +
             ", which has to fit " + limit();
    });
  }
}

}  // namespace deltabloom::internal
