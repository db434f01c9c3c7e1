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

bool AskedFilters::Prepare(const FilterHeader& header, const KeyRange& range) {
  try {
    if (usual_ != nullptr && header.held == usual_text_ &&
        header.limits == Limits()) {
      question_ = QuestionOf(range, *usual_);
      return true;
    }
    std::vector<Place> places;
    std::string_view unknown;
    if (!ParseDeclaration(header.held, find_, &places, &unknown)) return false;
    question_ = QuestionOf(range, Places(std::move(places), header.limits));
    return true;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {  // a function of the caller's
    return false;
  }
}

Answer AskedFilters::Ask(const Filter& filter, const KeyRange& range) {
  if (!filter.known() || filter.header().order != range.order) {
    return Answer::kUnknown;
  }
  const FilterHeader& header = filter.header();
  if (!prepared_ || held_ != header.held || !(limits_ == header.limits)) {
    prepared_ = false;
    held_ = header.held;
    limits_ = header.limits;
    valid_ = Prepare(header, range);
    prepared_ = true;
  }
  if (!valid_) return Answer::kUnknown;
  if (range.Empty()) return Answer::kMayMatch;
  if (filter.IsOutside(range)) return Answer::kNo;
  if (question_.size == 0) return Answer::kNoPlace;
  return filter.MayHold(question_) ? Answer::kMayMatch : Answer::kNo;
}

}  // namespace deltabloom::internal::range
