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
  std::vector<Place> declared;
  declared.reserve(kMaxPlaces);
  std::string_view unknown;
  if (!ParseDeclaration(header.held, find_, &declared, &unknown)) return false;
  Places places(std::move(declared), header.limits);
  try {
    question_ = QuestionOf(range, &places);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {  // a function of the caller's
    return false;
  }
  return true;
}

Answer AskedFilters::Ask(const Filter& filter, const KeyRange& range) {
  if (!filter.known() || filter.header().order != range.order) {
    return Answer::kUnknown;
  }
  const FilterHeader& header = filter.header();
  if (!prepared_ || held_ != header.held ||
      limits_.delimiters != header.limits.delimiters ||
      limits_.bytes != header.limits.bytes) {
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
