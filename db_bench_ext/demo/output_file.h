// A result file that appears complete or not at all.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_OUTPUT_FILE_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_OUTPUT_FILE_H_

#include <string>

namespace deltabloom::demo {

// Written under a temporary name beside `path` and renamed at the end. The name
// is claimed at once: a place that cannot be written to is known before the
// work begins. Devices and pipes are written to directly.
class OutputFile {
 public:
  // Throws UsageError, naming `option`.
  OutputFile(const std::string& option, const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Where to write until Publish.
  const std::string& writing_path() const { return writing_path_; }

  // Replaces the content; throws std::runtime_error.
  void Write(const std::string& text);

  // Puts what was written in place; throws std::runtime_error.
  void Publish();

 private:
  std::string path_;
  std::string writing_path_;
};

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_OUTPUT_FILE_H_
