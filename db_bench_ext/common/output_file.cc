#include "db_bench_ext/common/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "db_bench_ext/common/errors.h"

namespace deltabloom::bench {

namespace fs = std::filesystem;

OutputFile::OutputFile(const std::string& option, const std::string& path)
    : option_(option) {
  if (path.empty()) throw UsageError(option + ": the name is empty");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    throw UsageError(option + ": " + path + " is a folder, name a file");
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    path_ = writing_path_ = path;
    return;
  }
  // Through symbolic links, which a rename would replace.
  path_ = fs::weakly_canonical(path, error).string();
  if (error) path_ = path;
  writing_path_ = path_ + "." + std::to_string(getpid()) + ".unfinished";
  unfinished_ = std::make_unique<Temporary>(writing_path_);
  const int fd = open(writing_path_.c_str(),
                      O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) {
    throw UsageError(option + ": cannot write " + path + ": " +
                     std::strerror(errno));
  }
  close(fd);
}

void OutputFile::Write(const std::function<void(std::ostream*)>& write) {
  errno = 0;
  std::ofstream file(writing_path_);
  if (file) write(&file);
  file.close();
  if (!file) Fail();
}

void OutputFile::Publish() {
  if (unfinished_ == nullptr) return;
  if (std::rename(writing_path_.c_str(), path_.c_str()) != 0) Fail();
  unfinished_->Keep();
}

void OutputFile::Fail() const {
  throw std::runtime_error(option_ + ": cannot write " + path_ + ": " +
                           std::strerror(errno != 0 ? errno : EIO));
}

}  // namespace deltabloom::bench
