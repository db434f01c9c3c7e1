#include "deltabloom/range_filter.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "util/json.h"
#include "util/range/asked_filters.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"
#include "util/range/functions.h"
#include "util/range/key_range.h"
#include "util/range/prefixes_option.h"

namespace deltabloom {

using internal::range::Order;

std::string RangeFilterOptions::Validate() const {
  if (!(bits_per_key > 0 && bits_per_key <= 1000)) {
    return "bits_per_key = " + internal::NumberText(bits_per_key) +
           " is out of range: use more than 0, to 1000";
  }
  internal::range::PlacesToHold places;
  return internal::range::ParsePrefixes(
      prefixes, internal::range::FindBuiltInFunction, &places);
}

struct RangeFilterBuilder::Rep {
  explicit Rep(const RangeFilterOptions& options)
      : bits_per_key(options.bits_per_key) {
    internal::range::ParsePrefixes(
        options.prefixes, internal::range::FindBuiltInFunction, &places);
    Clear();
  }

  void Clear() {
    builder = std::make_unique<internal::range::FilterBuilder>(
        places, Order::kBytewise, bits_per_key);
    broken = false;
  }

  double bits_per_key;
  internal::range::PlacesToHold places;
  std::unique_ptr<internal::range::FilterBuilder> builder;
  bool broken = false;  // keys were lost
};

RangeFilterBuilder::RangeFilterBuilder(const RangeFilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(options);
}

RangeFilterBuilder::~RangeFilterBuilder() = default;
RangeFilterBuilder::RangeFilterBuilder(RangeFilterBuilder&&) noexcept = default;
RangeFilterBuilder& RangeFilterBuilder::operator=(
    RangeFilterBuilder&&) noexcept = default;

void RangeFilterBuilder::AddKey(std::string_view key) noexcept {
  try {
    if (!rep_->broken) rep_->broken = !rep_->builder->Add(key);
  } catch (...) {
    rep_->broken = true;
  }
}

uint64_t RangeFilterBuilder::BuildBytes() const {
  return rep_->builder->BuildBytes({});
}

bool RangeFilterBuilder::Finish(std::string* dst) noexcept {
  const size_t size = dst->size();
  bool finished = false;
  try {
    finished = !rep_->broken && rep_->builder->Finish({}, dst).empty();
  } catch (...) {
    dst->resize(size);
  }
  try {
    rep_->Clear();
  } catch (...) {
    rep_->broken = true;
  }
  return finished;
}

struct RangeFilter::Rep : internal::range::Filter {
  using Filter::Filter;
};

RangeFilter::RangeFilter(std::string_view filter)
    : rep_(std::make_unique<Rep>(filter)) {}

RangeFilter::~RangeFilter() = default;
RangeFilter::RangeFilter(RangeFilter&&) noexcept = default;
RangeFilter& RangeFilter::operator=(RangeFilter&&) noexcept = default;

bool RangeFilter::MayMatch(std::string_view lower,
                           std::optional<std::string_view> upper) const {
  internal::range::AskedFilters asked(internal::range::FindBuiltInFunction);
  return asked.Ask(*rep_, internal::range::RangeOfBounds(Order::kBytewise,
                                                         lower, upper)) !=
         internal::range::Answer::kNo;
}

std::string RangeFilter::Describe() const { return rep_->Describe(); }

}  // namespace deltabloom
