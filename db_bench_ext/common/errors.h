// The errors of the measuring programs: one line of text each, which says what,
// where and what to do.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_ERRORS_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_ERRORS_H_

#include <stdexcept>

namespace deltabloom::bench {

// Bad usage, exit code 2: names the option, the value and what would be right.
// Whatever else prevents a result is another std::exception, exit code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_ERRORS_H_
