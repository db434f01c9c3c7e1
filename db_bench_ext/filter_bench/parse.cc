#include "db_bench_ext/filter_bench/parse.h"

#include <charconv>
#include <sstream>

namespace deltabloom::bench {

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> parts;
  std::string part;
  for (std::stringstream stream(list); std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

uint64_t ParseCount(const char* option, std::string text, uint64_t least,
                    uint64_t most) {
  const std::string given = text;
  uint64_t unit = 1;
  if (!text.empty() && (text.back() == 'k' || text.back() == 'K')) unit = 1000;
  if (!text.empty() && (text.back() == 'm' || text.back() == 'M')) {
    unit = 1'000'000;
  }
  if (unit > 1) text.pop_back();
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end || value > most / unit ||
      value * unit < least) {
    throw BadUsage(std::string(option) + ": '" + given +
                   "' is not a whole number from " + WithThousands(least) +
                   " to " + WithThousands(most));
  }
  return value * unit;
}

void ParseBits(const std::string& list, std::vector<double>* values) {
  values->clear();
  for (const std::string& text : SplitList(list)) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || parsed != end ||
        !(value >= 1 && value <= 100)) {
      throw BadUsage("--bits-per-key: '" + text +
                     "' is not a number from 1 to 100");
    }
    values->push_back(value);
  }
  if (values->empty()) throw BadUsage("--bits-per-key: an empty list");
}

std::string WithThousands(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace deltabloom::bench
