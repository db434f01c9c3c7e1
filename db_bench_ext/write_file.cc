#include "db_bench_ext/write_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace deltabloom::bench {

namespace fs = std::filesystem;

bool WriteFile(const std::string& path,
               const std::function<void(std::ostream*)>& write) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const bool direct = fs::exists(status) && !fs::is_regular_file(status);
  // Through symbolic links, which a rename would replace.
  const fs::path resolved = fs::weakly_canonical(path, error);
  const std::string target = error || direct ? path : resolved.string();
  const std::string written = direct ? target : target + ".unfinished";
  std::ofstream file(written);
  if (file) write(&file);
  file.close();
  if (file && (direct || std::rename(written.c_str(), target.c_str()) == 0)) {
    return true;
  }
  const int reason = errno;
  if (!direct) std::remove(written.c_str());
  errno = reason;
  return false;
}

}  // namespace deltabloom::bench
