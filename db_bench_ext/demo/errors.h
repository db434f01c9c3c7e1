// The demo's errors: one line of text each. Exit codes: bad usage 2, anything
// else that prevents a result 1.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_ERRORS_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_ERRORS_H_

#include <stdexcept>

namespace deltabloom::demo {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_ERRORS_H_
