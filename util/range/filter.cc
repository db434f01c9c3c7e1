#include "util/range/filter.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "util/coding.h"
#include "util/range/answer.h"
#include "util/range/cut.h"
#include "util/range/numbers.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {

Filter::Filter(std::string_view bytes) {
  if (bytes.size() < kFilterHeaderBytes + kFilterSizeBytes) return;
  const size_t size = bytes.size() - kFilterSizeBytes;
  if (LoadFixed64(bytes.data() + size) != size || bytes[0] != kFilterVersion) {
    return;
  }
  const std::string_view body =
      bytes.substr(kFilterHeaderBytes, size - kFilterHeaderBytes);
  bool parsed = false;
  if (bytes[1] == kNumbersShape) {
    parsed = shape_.emplace<Numbers>().Parse(body);
  } else if (bytes[1] == kPrefixesShape) {
    parsed = shape_.emplace<Prefixes>().Parse(body);
  }
  if (!parsed) shape_.emplace<Unknown>();
}

Answer Filter::Ask(std::string_view lower,
                   std::optional<std::string_view> upper) const {
  if (upper.has_value() && lower >= *upper) return Answer::kMayMatch;
  return std::visit([&](const auto& s) { return s.Ask(lower, upper); }, shape_);
}

bool Filter::HasKeyFrom(std::string_view bound) const {
  return std::visit([&](const auto& s) { return s.HasKeyFrom(bound); }, shape_);
}

std::vector<Cut> Filter::LearnedCuts() const {
  const auto* const prefixes = std::get_if<Prefixes>(&shape_);
  if (prefixes == nullptr) return {};
  return prefixes->LearnedCuts();
}

std::string Filter::Describe() const {
  return std::visit([](const auto& s) { return s.Describe(); }, shape_);
}

}  // namespace deltabloom::internal::range
