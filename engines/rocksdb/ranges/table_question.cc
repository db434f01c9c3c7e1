#include "engines/rocksdb/ranges/table_question.h"

#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/key_transform.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/prefix_functions.h"
#include "engines/rocksdb/ranges/property.h"
#include "engines/rocksdb/ranges/scan_range.h"
#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/slice.h"
#include "util/range/asked_filters.h"
#include "util/range/filter.h"
#include "util/range/key_range.h"

namespace deltabloom::internal {

using range::Answer;

TableQuestion::TableQuestion(const RangesState& state, const ScanRange& range,
                             const rocksdb::Comparator& comparator)
    : state_(state), comparator_(comparator), asked_(FindPrefixFunction) {
  const std::optional<range::Order> order = state_.FilterOrderOf(comparator_);
  if (!order) return;
  if (range.prefix()) {
    keys_ = range::RangeOfPrefix(*order, range.prefix()->ToStringView());
    usable_ = true;
    return;
  }
  std::string_view lower = range.lower()->ToStringView();
  std::optional<std::string_view> upper;
  if (range.upper() != nullptr) upper = range.upper()->ToStringView();
  const RegisteredTransform* const transform = state_.options.transform;
  // If the bounds cannot be mapped, every table may match.
  usable_ = transform == nullptr || WithoutThrowing([&] {
              KeyScratch scratch;
              mapped_lower_ = transform->transform.function(lower, &scratch);
              lower = mapped_lower_;
              if (!upper) return;
              mapped_upper_ = transform->transform.function(*upper, &scratch);
              upper = mapped_upper_;
            });
  keys_ = range::RangeOfBounds(*order, lower, upper);
}

Answer TableQuestion::Ask(const rocksdb::TableProperties& table,
                          bool* reaches_front) {
  if (!usable_) return Answer::kUnknown;
  const auto found = table.user_collected_properties.find(state_.property_name);
  RangeProperty property;
  if (found == table.user_collected_properties.end() ||
      !ParseRangeProperty(found->second, &property)) {
    return Answer::kUnknown;
  }
  const RegisteredTransform* const transform = state_.options.transform;
  const std::string_view transform_name =
      transform == nullptr ? std::string_view() : transform->text;
  const std::string_view comparator = comparator_.Name();
  if (property.transform != transform_name ||
      property.timestamp_size != comparator_.timestamp_size() ||
      property.comparator != comparator ||
      table.comparator_name != comparator ||
      // The collector has seen every entry.
      property.entries + table.num_range_deletions != table.num_entries) {
    return Answer::kUnknown;
  }
  const range::Filter filter(property.filter);
  const Answer answer = asked_.Ask(filter, keys_);
  if (answer == Answer::kNo) *reaches_front = filter.HasKeyFromFront(keys_);
  return answer;
}

}  // namespace deltabloom::internal
