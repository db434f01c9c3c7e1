// A range filter: answers "is any key in [lower, upper)?".
// docs/format.md, chapter "Range filter", defines its bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "util/range/answer.h"
#include "util/range/cut.h"
#include "util/range/numbers.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {

// The bytes of every range filter: version and shape before the body, the size
// of all this behind it.
inline constexpr char kFilterVersion = 1;
inline constexpr char kNumbersShape = 1;
inline constexpr char kPrefixesShape = 3;
inline constexpr size_t kFilterHeaderBytes = 2;
inline constexpr size_t kFilterSizeBytes = 8;

// A view over a range filter, parsed once; the bytes must outlive it. Any bytes
// are safe: damaged ones and those of a later version always match.
class Filter {
 public:
  explicit Filter(std::string_view bytes);

  // False only if no added key k has lower <= k < upper, bytewise; true if
  // lower >= upper. Without `upper` all keys from `lower` on are meant.
  bool MayMatch(std::string_view lower,
                std::optional<std::string_view> upper) const {
    return Ask(lower, upper) != Answer::kNo;
  }
  Answer Ask(std::string_view lower,
             std::optional<std::string_view> upper) const;

  // True only if some added key k has k >= bound. A filter of numbers knows it
  // for every bound, one of prefixes unless the bound begins like the last key.
  bool HasKeyFrom(std::string_view bound) const;

  // Returns whether these bytes can never say no.
  bool AlwaysMatches() const { return std::holds_alternative<Unknown>(shape_); }
  std::string Describe() const;
  // None unless samples chose them.
  std::vector<Cut> LearnedCuts() const;

 private:
  struct Unknown {
    Answer Ask(std::string_view, std::optional<std::string_view>) const {
      return Answer::kMayMatch;
    }
    bool HasKeyFrom(std::string_view) const { return false; }
    std::string Describe() const { return "damaged or of another version"; }
  };

  std::variant<Unknown, Numbers, Prefixes> shape_;
};

}  // namespace deltabloom::internal::range
