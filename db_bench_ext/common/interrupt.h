// Ctrl-C and kill end a program at once and leave nothing behind: what is not
// finished is removed, and results appear under their names only when they are
// whole.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_INTERRUPT_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_INTERRUPT_H_

#include <sys/types.h>

#include <string>

namespace deltabloom::bench {

// From now on SIGINT, SIGTERM and SIGHUP end the program with exit code 128
// plus their number, after one line on standard error; and SIGPIPE is ignored:
// a reader that goes away is a failed write. Call it before there is another
// thread: all of them must leave the signals to the one that waits for them.
void HandleInterrupts(const std::string& program);

// In a child, gives the signals their usual meaning again.
void ForgetInterrupts();

// The child that an interrupt ends before it removes anything; 0: none.
void SetChild(pid_t child);

// A file or folder that must not stay behind: removed by the destructor and by
// an interrupt, those that were made last first.
class Temporary {
 public:
  enum class Removal {
    kWithContent,
    kIfEmpty,  // a folder in which somebody else may have put something
  };

  explicit Temporary(std::string path, Removal removal = Removal::kWithContent);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const { return path_; }

  // It stays after all.
  void Keep();

 private:
  friend class ScratchDirectory;
  struct Unnamed {};
  explicit Temporary(Unnamed) {}

  void Register();

  std::string path_;
  Removal removal_ = Removal::kWithContent;
};

// A new, empty folder under $TMPDIR or /tmp.
class ScratchDirectory {
 public:
  // Throws std::runtime_error if it cannot be made.
  explicit ScratchDirectory(const std::string& name);

  const std::string& path() const { return temporary_.path(); }

 private:
  Temporary temporary_;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_INTERRUPT_H_
