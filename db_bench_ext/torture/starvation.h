// How long a process was not let run.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_STARVATION_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_STARVATION_H_

#include <sys/types.h>

#include <chrono>

namespace deltabloom::torture {

// How long one thread of the process has been ready and had no processor: that
// of which it was longest. 0 if it has ended or the kernel does not count.
std::chrono::nanoseconds WaitedForProcessor(pid_t process);

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_STARVATION_H_
