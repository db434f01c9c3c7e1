// Numbers as tables show them. "-" stands for a figure that there is not.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_FORMAT_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace deltabloom::bench {

// With so many digits behind the point.
std::string Fixed(std::optional<double> value, int digits);

// With at most so many digits that matter: 10, 9.9, 1.2e-05.
std::string Significant(std::optional<double> value, int digits);

// Nanoseconds: three digits that matter, two behind the point at most.
std::string Nanoseconds(std::optional<double> value);

// A rate in percent: 0.838, 0.0098, 1.2e-05.
std::string Percent(std::optional<double> rate);

// 100,000,000
std::string WithThousands(uint64_t number);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_FORMAT_H_
