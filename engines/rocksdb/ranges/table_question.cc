#include "engines/rocksdb/ranges/table_question.h"

#include <algorithm>
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
#include "util/range/asked_filters.h"
#include "util/range/filter.h"
#include "util/range/key_range.h"

namespace deltabloom::internal {

using range::Answer;

TableQuestion::TableQuestion(const RangesState& state, const ScanRange& range,
                             const rocksdb::Comparator& comparator)
    : options_(state.options),
      comparator_(comparator.Name()),
      timestamp_size_(comparator.timestamp_size()),
      asked_(FindPrefixFunction, &options_.places.places, options_.prefixes) {
  const std::optional<range::Order> order = options_.FilterOrderOf(comparator_);
  if (!order) {
    usable_ = false;
    return;
  }
  if (range.prefix()) {
    keys_ = range::RangeOfPrefix(*order, range.prefix()->ToStringView());
    return;
  }
  std::string_view lower = range.lower()->ToStringView();
  std::optional<std::string_view> upper;
  if (range.upper() != nullptr) upper = range.upper()->ToStringView();
  const RegisteredTransform* const transform = options_.transform;
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
                          bool backward) {
  if (!usable_) return Answer::kUnknown;
  // Mostly the first property, as those of RocksDB begin with "rocksdb.".
  const auto& properties = table.user_collected_properties;
  const auto found =
      std::find_if(properties.begin(), properties.end(), [](const auto& one) {
        return one.first == std::string_view(kRangePropertyName);
      });
  RangeProperty property;
  if (found == properties.end() ||
      !ParseRangeProperty(found->second, &property)) {
    return Answer::kUnknown;
  }
  std::string_view transform;
  if (options_.transform != nullptr) transform = options_.transform->text;
  if (property.transform != transform ||
      property.timestamp_size != timestamp_size_ ||
      property.comparator != comparator_ ||
      table.comparator_name != comparator_ ||
      // The collector has seen every entry.
      property.entries + table.num_range_deletions != table.num_entries) {
    return Answer::kUnknown;
  }
  const range::Filter filter(property.filter);
  const Answer answer = asked_.Ask(filter, keys_);
  return answer == Answer::kNo && backward && !filter.HasKeyFromFront(keys_)
             ? Answer::kMayMatch
             : answer;
}

}  // namespace deltabloom::internal
