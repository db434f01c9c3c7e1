#include "engines/rocksdb/policy/caller.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <stdexcept>

#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/process_wide.h"

namespace deltabloom::internal {
namespace {

void PrintOnce(const char* line) noexcept {
  // A program may try any number of options.
  constexpr size_t kMostLines = 20;
  try {
    ProcessWide<std::set<std::string>> printed;
    if (printed->size() >= kMostLines || !printed->insert(line).second) return;
  } catch (const std::exception&) {
    // Without memory it is printed each time.
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

bool Register() {
  const std::string& problem = LibraryProblem();
  if (!problem.empty()) throw std::runtime_error(problem);
  static std::once_flag once;
  std::call_once(once,
                 [] { AddFactories(*rocksdb::ObjectLibrary::Default()); });
  return true;
}

}  // namespace deltabloom::internal
