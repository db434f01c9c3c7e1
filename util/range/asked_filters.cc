#include "util/range/asked_filters.h"

#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "util/range/declaration.h"
#include "util/range/filter.h"
#include "util/range/key_range.h"
#include "util/range/place.h"
#include "util/range/places.h"
#include "util/range/question.h"

namespace deltabloom::internal::range {

void AskedFilters::Prepare(const FilterHeader& header, const KeyRange& range) {
  valid_ = false;
  limits_ = header.limits;
  try {
    if (usual_ != nullptr && header.held == usual_text_ &&
        limits_ == Limits()) {
      held_ = usual_text_;
      question_ = QuestionOf(range, *usual_);
    } else {
      other_text_ = header.held;
      held_ = other_text_;
      std::vector<Place> places;
      std::string_view unknown;
      if (!ParseDeclaration(held_, find_, &places, &unknown)) return;
      question_ = QuestionOf(range, Places(std::move(places), limits_));
    }
    valid_ = true;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {  // a function of the caller's
  }
}

Answer AskedFilters::Ask(const Filter& filter, const KeyRange& range) {
  const FilterHeader& header = filter.header();
  if (!filter.known() || header.order != range.order) return Answer::kUnknown;
  if (!valid_ || held_ != header.held || !(limits_ == header.limits)) {
    Prepare(header, range);
  }
  if (!valid_) return Answer::kUnknown;
  if (range.empty) return Answer::kMayMatch;
  if (filter.IsOutside(range)) return Answer::kNo;
  if (question_.size == 0) return Answer::kNoPlace;
  return filter.MayHold(question_) ? Answer::kMayMatch : Answer::kNo;
}

}  // namespace deltabloom::internal::range
