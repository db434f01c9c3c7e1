// Handles errors at the two borders of the engine: nothing throws into RocksDB,
// and the public functions set *error to one line.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace deltabloom::internal {

// The error when memory has run out: fits a std::string without allocating.
inline constexpr char kOutOfMemory[] = "out of memory";

// Calls fn. Returns false if it throws: memory has run out, or a function of
// the caller's failed.
template <typename Fn>
bool WithoutThrowing(Fn fn) noexcept {
  try {
    fn();
    return true;
  } catch (...) {
    return false;
  }
}

// Sets *error to the line. If `error` is null, the line is printed to standard
// error, because the caller would not see it otherwise: each line once in a
// process, and no more than 20 lines.
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

}  // namespace deltabloom::internal
