// Reads the values of options.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PARSE_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PARSE_H_

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace deltabloom::bench {

// One line that names the option, the value and what would be right.
struct BadUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The parts between commas that are not empty.
std::vector<std::string> SplitList(const std::string& list);

// A whole number in [least, most]; k and M behind it are thousands and
// millions.
uint64_t ParseCount(const char* option, std::string text, uint64_t least,
                    uint64_t most);

// A list of them without repetitions.
template <typename T>
void ParseCounts(const char* option, const std::string& list, uint64_t least,
                 uint64_t most, std::vector<T>* values) {
  values->clear();
  for (const std::string& text : SplitList(list)) {
    const T value = static_cast<T>(ParseCount(option, text, least, most));
    if (std::find(values->begin(), values->end(), value) == values->end()) {
      values->push_back(value);
    }
  }
  if (values->empty()) throw BadUsage(std::string(option) + ": an empty list");
}

// A list of bits per key.
void ParseBits(const std::string& list, std::vector<double>* values);

// "100,000,000"
std::string WithThousands(uint64_t number);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_PARSE_H_
