#include "db_bench_ext/common/format.h"

#include <cmath>
#include <cstdio>

namespace deltabloom::bench {
namespace {

constexpr char kNone[] = "-";

}  // namespace

std::string Fixed(std::optional<double> value, int digits) {
  if (!value) return kNone;
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, *value);
  return text;
}

std::string Significant(std::optional<double> value, int digits) {
  if (!value) return kNone;
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, *value);
  return text;
}

std::string Nanoseconds(std::optional<double> value) {
  if (!value) return kNone;
  const double size = std::fabs(*value);
  return Fixed(value, size < 1 ? 2 : size < 100 ? 1 : 0);
}

std::string Percent(std::optional<double> rate) {
  if (rate) *rate *= 100;
  return Significant(rate, 3);
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
