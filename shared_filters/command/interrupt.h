// Signals, noticed where the work of a command can stop.
#pragma once

#include <signal.h>

#include <stdexcept>

namespace deltabloom::tools {

// Unwinds the work, so that destructors undo what is half done.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// While it lives, SIGINT, SIGTERM and SIGHUP are held back in this thread and
// in those that it starts. One at a time, and not beside other threads.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool Came();

  // Throws Interrupted if a signal came.
  void Check();

  // Between these calls a signal ends the process at once: for what may wait
  // for a pipe, while nothing is half done.
  void Release() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  void Hold() { pthread_sigmask(SIG_BLOCK, &signals_, nullptr); }

  // Readable when a signal came: for poll().
  int descriptor() const { return descriptor_; }

  // Ends the process by the signal that came, so that the shell knows. Returns
  // if none did.
  void EndProcess();

 private:
  sigset_t signals_;
  sigset_t before_;
  int descriptor_ = -1;
  int signal_ = 0;
};

}  // namespace deltabloom::tools
