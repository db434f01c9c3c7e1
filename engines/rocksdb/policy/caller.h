// Errors at the border to the programs that call the public functions, which
// set *error to one line, or print it if `error` is null.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace deltabloom::internal {

// Sets *error. Without one the line is printed to standard error, for callers
// that would not see it otherwise, each line once in a process.
void SetCallerError(const char* line, std::string* error) noexcept;

// Returns what `fn` returns. If it throws, *error is set, or the error printed,
// and an empty result is returned.
template <typename Fn>
auto Catch(std::string* error, Fn fn) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    SetCallerError("deltabloom: out of memory", error);
  } catch (const std::exception& failure) {
    SetCallerError(failure.what(), error);
  }
  return decltype(fn())();
}

// Throws std::runtime_error with "deltabloom: <problem>", if there is one.
void Require(const std::string& problem);

// Registers the factories with RocksDB, once. Returns true. Throws
// std::runtime_error if the loaded RocksDB library does not fit.
bool Register();

}  // namespace deltabloom::internal
