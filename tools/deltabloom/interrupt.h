// Ctrl-C and its like, noticed where the work can stop instead of where it
// happens to be.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_INTERRUPT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_INTERRUPT_H_

#include <signal.h>

#include <stdexcept>

namespace deltabloom::tools {

// Unwinds the work, so that destructors undo what is half done.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// While it lives, SIGINT, SIGTERM and SIGHUP wait to be asked for, in this
// thread and in those that it starts. One at a time, and not beside other
// threads.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool Came();

  // Throws Interrupted if a signal came.
  void Check();

  // Readable when a signal came: for poll().
  int descriptor() const { return descriptor_; }

  // Ends the process by the signal that came, so that the shell knows. Returns
  // if none did.
  void EndProcess();

 private:
  sigset_t before_;
  int descriptor_ = -1;
  int signal_ = 0;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_INTERRUPT_H_
