// What deltabloom shared reads: signals, noticed where the work can stop, and
// keys from a file, from standard input or from the command line, in batches.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_SHARED_INPUT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_SHARED_INPUT_H_

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::tools {

// The path and the text of errno.
std::runtime_error SystemError(const std::string& path);

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

// A key ends with a separator, the last one perhaps with the input: "a\n\nb"
// are three keys, the second of no bytes. Any other bytes are part of a key.
class KeyReader {
 public:
  static constexpr size_t kMaxBatch = 1000;  // keys

  // `path`: "-" is standard input. Throws std::runtime_error with the path and
  // the reason.
  KeyReader(const std::string& path, char separator, Interrupt* interrupt);
  explicit KeyReader(const std::vector<std::string>& keys);
  ~KeyReader();
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;

  // The next keys, valid until the next call; none at the end. Throws
  // Interrupted, and std::runtime_error if the input cannot be read or has a
  // key of more than 1 MiB.
  const std::vector<std::string_view>& Next();

  // Whether Next can go on within this time, at the end of the input too.
  bool HasMoreWithin(std::chrono::milliseconds time);

  const std::string& name() const { return name_; }
  uint64_t keys() const { return keys_; }  // given out

  // How far it is, in bytes of all; both 0 if the size is not known.
  uint64_t bytes_done() const { return size_ == 0 ? 0 : bytes_; }
  uint64_t bytes_all() const { return size_; }

 private:
  bool Wait(int milliseconds);
  bool Read();
  void Split();

  const std::string name_;
  const char separator_ = '\n';
  Interrupt* const interrupt_ = nullptr;
  int descriptor_ = -1;
  bool at_end_ = false;
  uint64_t size_ = 0;
  uint64_t bytes_ = 0;
  uint64_t keys_ = 0;
  std::vector<std::string> given_;
  std::string buffer_;
  size_t used_ = 0;  // of the buffer: given out
  size_t seen_ = 0;  // of the buffer: no separator from used_ to here
  std::vector<std::string_view> batch_;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_SHARED_INPUT_H_
