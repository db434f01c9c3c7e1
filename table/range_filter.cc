#include "deltabloom/range_filter.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/json.h"
#include "util/range/cut.h"
#include "util/range/cut_text.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"

namespace deltabloom {

std::string RangeFilterOptions::Validate() const {
  if (!(bits_per_key > 0 && bits_per_key <= 1000)) {
    return "bits_per_key = " + internal::NumberText(bits_per_key) +
           " is out of range: use more than 0, to 1000; 16 answers most empty "
           "ranges";
  }
  std::vector<internal::range::Cut> cuts;
  if (!internal::range::ParseCuts(range_prefixes, &cuts)) {
    return "range_prefixes = " + range_prefixes + " is not valid: use " +
           internal::range::kCutsSyntax;
  }
  return {};
}

struct RangeFilterBuilder::Rep : internal::range::FilterBuilder {
  using FilterBuilder::FilterBuilder;
};

RangeFilterBuilder::RangeFilterBuilder(const RangeFilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(options.bits_per_key, options.range_length);
  std::vector<internal::range::Cut> cuts;
  internal::range::ParseCuts(options.range_prefixes, &cuts);
  rep_->SetCuts(std::move(cuts));
}

RangeFilterBuilder::~RangeFilterBuilder() = default;
RangeFilterBuilder::RangeFilterBuilder(RangeFilterBuilder&&) noexcept = default;
RangeFilterBuilder& RangeFilterBuilder::operator=(
    RangeFilterBuilder&&) noexcept = default;

void RangeFilterBuilder::AddSample(std::string_view lower,
                                   std::string_view upper, double weight) {
  rep_->AddSample(lower, upper, weight);
}

void RangeFilterBuilder::AddKey(std::string_view key) noexcept {
  rep_->AddKey(key);
}

uint64_t RangeFilterBuilder::BuildBytes() const {
  return rep_->EstimatedBuildBytes();
}

bool RangeFilterBuilder::Finish(std::string* dst) noexcept {
  return rep_->Finish(dst);
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
  return rep_->MayMatch(lower, upper);
}

std::string RangeFilter::Describe() const { return rep_->Describe(); }

}  // namespace deltabloom
