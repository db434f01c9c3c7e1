// Asks one range filter after the other about the same keys. The filters of a
// scan mostly have one declaration, so the question is made once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/range/filter.h"
#include "util/range/functions.h"
#include "util/range/key_range.h"
#include "util/range/places.h"
#include "util/range/question.h"

namespace deltabloom::internal::range {

enum class Answer : uint8_t {
  kNo,  // no key is in the range
  kMayMatch,
  kNoPlace,  // may match: the range shares no declared place
  kUnknown,  // may match: the filter cannot be used
};

// Not thread-safe.
class AskedFilters {
 public:
  // `find` finds the functions that declarations name. `usual`, if not null,
  // has the places of the declaration `usual_text`, which then need not be
  // parsed. Both must outlive this object.
  explicit AskedFilters(FindFunction find, const Places* usual = nullptr,
                        std::string_view usual_text = {})
      : find_(find), usual_(usual), usual_text_(usual_text) {}
  AskedFilters(const AskedFilters&) = delete;
  AskedFilters& operator=(const AskedFilters&) = delete;

  // REQUIRES: the range is the same each time.
  // Returns kUnknown for a filter in another order, and for one whose
  // declaration is not valid or names a function that is not registered or
  // throws. Throws std::bad_alloc.
  Answer Ask(const Filter& filter, const KeyRange& range);

 private:
  // Sets the members below for the declaration of the filter.
  void Prepare(const FilterHeader& header, const KeyRange& range);

  FindFunction find_;
  const Places* usual_;
  std::string_view usual_text_;
  bool valid_ = false;  // question_ is for this declaration and these limits
  std::string_view held_;
  Limits limits_;
  std::string other_text_;  // that of held_, if it is not the usual one
  Question question_;
};

}  // namespace deltabloom::internal::range
