#include "db_bench_ext/common/parse.h"

#include <charconv>
#include <sstream>

#include "db_bench_ext/common/format.h"

namespace deltabloom::bench {
namespace {

// True if all of text is a number.
template <typename T>
bool IsNumber(const std::string& text, T* value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

}  // namespace

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> parts;
  std::string part;
  for (std::stringstream stream(list); std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string JoinList(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) {
    joined += (joined.empty() ? "" : ", ") + part;
  }
  return joined;
}

uint64_t ParseCount(const std::string& option, std::string text, uint64_t least,
                    uint64_t most) {
  const std::string given = text;
  uint64_t unit = 1;
  if (!text.empty() && (text.back() == 'k' || text.back() == 'K')) unit = 1000;
  if (!text.empty() && (text.back() == 'm' || text.back() == 'M')) {
    unit = 1'000'000;
  }
  if (unit > 1) text.pop_back();
  uint64_t value = 0;
  if (!IsNumber(text, &value) || value > most / unit || value * unit < least) {
    throw UsageError(option + ": '" + given + "' is not a whole number from " +
                     WithThousands(least) + " to " + WithThousands(most));
  }
  return value * unit;
}

double ParseNumber(const std::string& option, const std::string& text,
                   double least, double most) {
  double value = 0;
  // Written so that NaN fails.
  if (!IsNumber(text, &value) || !(value >= least && value <= most)) {
    throw UsageError(option + ": '" + text + "' is not a number from " +
                     Significant(least, 10) + " to " + Significant(most, 10));
  }
  return value;
}

}  // namespace deltabloom::bench
