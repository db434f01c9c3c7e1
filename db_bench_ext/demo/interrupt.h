// Ctrl-C and kill: noted by a signal handler, acted upon where it is safe.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_INTERRUPT_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_INTERRUPT_H_

#include <exception>

namespace deltabloom::demo {

// Thrown to unwind once a signal has come, so that destructors clean up.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

// From now on SIGINT, SIGTERM and SIGHUP are noted and SIGPIPE is ignored.
void CatchInterrupts();

// The signal that came, or 0.
int PendingInterrupt();

// Throws Interrupted if a signal came.
void ThrowIfInterrupted();

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_INTERRUPT_H_
