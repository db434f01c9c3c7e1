#include "db_bench_ext/demo/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "db_bench_ext/demo/errors.h"

namespace deltabloom::demo {

namespace fs = std::filesystem;

OutputFile::OutputFile(const std::string& option, const std::string& path) {
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
  writing_path_ = path_ + ".tmp" + std::to_string(getpid());
  const int fd = open(writing_path_.c_str(),
                      O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) {
    throw UsageError(option + ": cannot write " + path + ": " +
                     std::strerror(errno));
  }
  close(fd);
}

OutputFile::~OutputFile() {
  if (writing_path_ != path_) unlink(writing_path_.c_str());
}

void OutputFile::Write(const std::string& text) {
  std::FILE* const file = std::fopen(writing_path_.c_str(), "w");
  bool written = file != nullptr;
  if (written) {
    written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    written = std::fclose(file) == 0 && written;
  }
  if (!written) {
    throw std::runtime_error("cannot write " + path_ + ": " +
                             std::strerror(errno));
  }
}

void OutputFile::Publish() {
  if (writing_path_ == path_) return;
  if (std::rename(writing_path_.c_str(), path_.c_str()) != 0) {
    throw std::runtime_error("cannot write " + path_ + ": " +
                             std::strerror(errno));
  }
  writing_path_ = path_;
}

}  // namespace deltabloom::demo
