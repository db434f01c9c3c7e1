#include "engines/rocksdb/base/errors.h"

#include <cstdio>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>

#include "engines/rocksdb/base/process.h"

namespace deltabloom::internal {
namespace {

void PrintOnce(const char* line) noexcept {
  // A program may try any number of options, and the lines are kept. It has
  // seen by then that something is wrong.
  constexpr size_t kMostLines = 20;
  try {
    const auto printed = TheProcess().printed_errors.Lock();
    if (printed->size() >= kMostLines || !printed->insert(line).second) return;
  } catch (const std::exception&) {
    // If memory has run out, the line cannot be remembered and is printed each
    // time.
  }
  std::fprintf(stderr, "%s; RocksDB continues without these filters\n", line);
}

}  // namespace

void SetCallerError(const char* line, std::string* error) noexcept {
  if (error == nullptr) return PrintOnce(line);
  if (!WithoutThrowing([&] { *error = line; })) *error = kOutOfMemory;
}

void Require(const std::string& problem) {
  if (!problem.empty()) throw std::runtime_error("deltabloom: " + problem);
}

}  // namespace deltabloom::internal
