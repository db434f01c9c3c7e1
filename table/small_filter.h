// Raw filters in engines that hand over all keys of a small filter at once,
// and its bytes with every lookup: classic ones are asked and built directly
// (util/layouts/classic/small.h), all others through Filter and FilterBuilder,
// with the same answers and bytes.
#ifndef DELTABLOOM_TABLE_SMALL_FILTER_H_
#define DELTABLOOM_TABLE_SMALL_FILTER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "util/layouts/classic/small.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

// The answer that Filter(filter, hash).MayMatch(key) gives.
inline bool MayMatchUnparsed(std::string_view filter, Hash hash,
                             std::string_view key) {
  if (filter.size() < 2) return false;
  const unsigned last_byte = static_cast<unsigned char>(filter.back());
  const size_t payload_size = filter.size() - 1;
  if (last_byte == 0 || last_byte > classic::kMaxProbes ||
      payload_size > classic::kMaxSmallPayload) {
    return Filter(filter, hash).MayMatch(key);
  }
  return classic::MayMatchUnparsed(
      reinterpret_cast<const unsigned char*>(filter.data()), payload_size,
      last_byte, classic::HashKey(hash, key));
}

// Appends the filter that a FilterBuilder makes of key_of(0 .. n-1).
template <typename KeyOf>
void AppendFilter(const FilterOptions& options, size_t n, const KeyOf& key_of,
                  std::string* dst) {
  const Plan plan = PlanFilter(FindLayout(options.layout, options.hash), n,
                               ToMillibits(options.bits_per_key));
  if (plan.layout->layout == Layout::kClassic &&
      plan.payload_size <= classic::kMaxStackPayload) {
    const size_t start = dst->size();
    dst->resize(start + plan.payload_size + 1);
    classic::BuildOnStack(
        n, [&](size_t i) { return classic::HashKey(options.hash, key_of(i)); },
        plan.payload_size, plan.shape.As<classic::Shape>().probes,
        &(*dst)[start]);
    dst->back() = static_cast<char>(plan.last_byte);
    return;
  }
  FilterBuilder builder(options);
  for (size_t i = 0; i < n; ++i) builder.AddKey(key_of(i));
  builder.Finish(dst);
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SMALL_FILTER_H_
