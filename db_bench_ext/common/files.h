// Files of the measuring programs. An interrupt removes what is not finished,
// and results appear under their names only when they are complete.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

namespace deltabloom::bench {

// From now on SIGINT, SIGTERM and SIGHUP end the program with exit code 128
// plus their number, after one line on standard error; and SIGPIPE is ignored:
// a closed pipe is a failed write. Call it before any thread is started: all
// threads must leave the signals to the one that waits for them.
void HandleInterrupts(const std::string& program);

// Gives the signals their usual meaning again, in a child process.
void ForgetInterrupts();

// The child process that an interrupt ends before it removes files; 0: none.
void SetChild(pid_t child);

// A file or folder that the destructor and an interrupt remove.
class Temporary {
 public:
  explicit Temporary(std::string path);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const { return path_; }

  // The file or folder stays.
  void Keep();

 private:
  const std::string path_;
};

// A new, empty folder under $TMPDIR or /tmp. Removes those of the same name
// that processes left which were killed.
class ScratchDirectory : public Temporary {
 public:
  // Throws std::runtime_error if it cannot be made.
  explicit ScratchDirectory(const std::string& name);
};

// A file that appears complete or not at all. It is written as
// path.PID.unfinished and renamed at the end. That name is created at once, so
// a place that cannot be written to is reported before the work begins. Devices
// and pipes are written to directly.
class OutputFile {
 public:
  // Throws UsageError, which names `option`.
  OutputFile(const std::string& option, const std::string& path);

  // The file to write to until Publish.
  const std::string& writing_path() const { return writing_path_; }

  // Replaces the content. Throws std::runtime_error.
  void Write(const std::string& content);

  // Puts the content in place. Throws std::runtime_error.
  void Publish();

 private:
  [[noreturn]] void Fail() const;

  const std::string option_;
  std::string path_;
  std::string writing_path_;
  std::unique_ptr<Temporary> unfinished_;  // null: written to directly
};

}  // namespace deltabloom::bench
