// The end of a run by SIGINT or SIGTERM.
#pragma once

#include <atomic>

namespace deltabloom::tools {

// While it lives, SIGINT and SIGTERM set *stop, unless they are ignored.
class StopAtInterrupt {
 public:
  explicit StopAtInterrupt(std::atomic<bool>* stop);
  ~StopAtInterrupt();
  StopAtInterrupt(const StopAtInterrupt&) = delete;
};

// Returns whether one of them came.
bool WasInterrupted();

}  // namespace deltabloom::tools
