// Ctrl-C and SIGTERM end the program at once, with exit code 130 and nothing
// left behind: results appear under their names only when they are whole, and
// scratch directories are removed.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_INTERRUPT_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_INTERRUPT_H_

#include <string>

namespace deltabloom::bench {

// Call it before there is another thread: all of them must leave the signals to
// the one that waits for them.
void HandleInterrupts();

// Gives the signals their usual meaning again, for a program that takes this
// process over.
void ForgetInterrupts();

// A new, empty directory for temporary files; removed with all that is in it by
// the destructor and by an interrupt.
class ScratchDirectory {
 public:
  // Throws std::runtime_error if it cannot be made.
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_INTERRUPT_H_
