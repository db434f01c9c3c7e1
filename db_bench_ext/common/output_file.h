// A result file that appears complete or not at all.
#ifndef DELTABLOOM_DB_BENCH_EXT_COMMON_OUTPUT_FILE_H_
#define DELTABLOOM_DB_BENCH_EXT_COMMON_OUTPUT_FILE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "db_bench_ext/common/interrupt.h"

namespace deltabloom::bench {

// Written under the name path.PID.unfinished and renamed at the end. The name
// is claimed at once: a place that cannot be written to is known before the
// work begins. Devices and pipes are written to directly. What is not
// published is removed.
class OutputFile {
 public:
  // Throws UsageError, naming `option`.
  OutputFile(const std::string& option, const std::string& path);

  // Where to write until Publish.
  const std::string& writing_path() const { return writing_path_; }

  // Replaces the content; throws std::runtime_error.
  void Write(const std::function<void(std::ostream*)>& write);

  // Puts what was written in place; throws std::runtime_error.
  void Publish();

 private:
  [[noreturn]] void Fail() const;

  std::string option_;
  std::string path_;
  std::string writing_path_;
  std::unique_ptr<Temporary> unfinished_;  // null: written to directly
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_COMMON_OUTPUT_FILE_H_
