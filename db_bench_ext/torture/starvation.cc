#include "db_bench_ext/torture/starvation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace deltabloom::torture {

std::chrono::nanoseconds WaitedForProcessor(pid_t process) {
  namespace fs = std::filesystem;
  int64_t longest = 0;
  std::error_code ended;
  const fs::path threads = "/proc/" + std::to_string(process) + "/task";
  for (fs::directory_iterator at(threads, ended), end; !ended && at != end;
       at.increment(ended)) {
    // Nanoseconds on a processor, then those of waiting for one.
    int64_t ran = 0;
    int64_t waited = 0;
    std::ifstream file(at->path() / "schedstat");
    if (file >> ran >> waited) longest = std::max(longest, waited);
  }
  return std::chrono::nanoseconds(longest);
}

}  // namespace deltabloom::torture
