#include "engines/rocksdb/policy/print_once.h"

#include <cstdio>
#include <exception>
#include <mutex>
#include <set>
#include <string>

namespace deltabloom::internal {

void PrintOnce(const char* line) noexcept {
  // A program may try ever new options: a terminal is not to be flooded.
  constexpr size_t kMostLines = 20;
  try {
    // Never destroyed: a policy may be asked for at the very end.
    static std::mutex& mutex = *new std::mutex;
    static std::set<std::string>& printed = *new std::set<std::string>;
    const std::lock_guard<std::mutex> lock(mutex);
    if (printed.size() >= kMostLines || !printed.insert(line).second) return;
  } catch (const std::exception&) {
    // Without memory: rather twice than never.
  }
  std::fprintf(stderr,
               "%s; without it RocksDB runs with no filters of Deltabloom\n",
               line);
}

}  // namespace deltabloom::internal
