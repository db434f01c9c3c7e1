// Reads the values of options; refuses bad ones with a UsageError that names
// the option, the value and the range.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_PARSE_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_PARSE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "db_bench_ext/common/errors.h"

namespace deltabloom::bench {

// The parts between commas that are not empty.
std::vector<std::string> SplitList(const std::string& list);

// "a, b, c"
std::string JoinList(const std::vector<std::string>& parts);

// A whole number in [least, most]; k and M behind it are thousands and
// millions.
uint64_t ParseCount(const std::string& option, std::string text, uint64_t least,
                    uint64_t most);

// A number in [least, most].
double ParseNumber(const std::string& option, const std::string& text,
                   double least, double most);

// A list of counts without repetitions.
template <typename T>
void ParseCounts(const std::string& option, const std::string& list,
                 uint64_t least, uint64_t most, std::vector<T>* values) {
  values->clear();
  for (const std::string& text : SplitList(list)) {
    const T value = static_cast<T>(ParseCount(option, text, least, most));
    if (std::find(values->begin(), values->end(), value) == values->end()) {
      values->push_back(value);
    }
  }
  if (values->empty()) throw UsageError(option + ": an empty list");
}

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_PARSE_H_
