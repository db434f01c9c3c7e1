// The shape "prefixes" of a range filter (docs/format.md, "Prefixes"): filters
// of key prefixes at a few cuts. A range whose possible keys have few prefixes
// at a cut is empty if the cut's filter holds none of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/layouts/layout.h"
#include "util/range/answer.h"
#include "util/range/cut.h"

namespace deltabloom::internal::range {

inline constexpr size_t kCutSize = 8;  // in the table of cuts

// A view. Any bytes are safe.
class Prefixes {
 public:
  // Leaves the cuts as they are: scans parse each table's filter anew, and to
  // set all kMaxCuts takes as long as to parse.
  Prefixes() {}

  // Returns false if the body breaks a rule; nothing else may be called then.
  bool Parse(std::string_view body);

  // REQUIRES: lower < upper. Without `upper` the range is open.
  Answer Ask(std::string_view lower,
             std::optional<std::string_view> upper) const;
  bool HasKeyFrom(std::string_view bound) const {
    return bound <= std::max(first_, last_);
  }
  // Returns the cuts that samples chose.
  std::vector<Cut> LearnedCuts() const;
  std::string Describe() const;

 private:
  struct CutFilter {
    Cut cut;
    uint64_t size;
    bool usable;
    ParsedFilter filter;  // if usable
  };

  size_t least_size_ = 0;
  // The beginnings of the first and the last key, or all of them.
  std::string_view first_, last_;
  size_t cuts_count_ = 0;
  size_t learned_ = 0;                    // the first ones, which samples chose
  std::array<CutFilter, kMaxCuts> cuts_;  // the first cuts_count_
};

}  // namespace deltabloom::internal::range
