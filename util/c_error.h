// Errors at the border to C: one line in *errptr, which the caller frees.
#pragma once

#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace deltabloom::internal {

// A copy, after `prefix`, that deltabloom_free() takes; null without memory.
inline char* CopyForC(std::string_view text, std::string_view prefix = {}) {
  const size_t size = prefix.size() + text.size();
  auto* const copy = static_cast<char*>(std::malloc(size + 1));
  if (copy == nullptr) return nullptr;
  text.copy(copy + prefix.copy(copy, prefix.size()), text.size());
  copy[size] = '\0';
  return copy;
}

// The first error stays.
inline void SetError(char** errptr, std::string_view text,
                     std::string_view prefix = "deltabloom: ") {
  if (errptr == nullptr || *errptr != nullptr) return;
  *errptr = CopyForC(text, prefix);
}

// Throws an error, for CatchForC, if `argument` is null.
inline void RequireArgument(const void* argument, const char* name) {
  if (argument != nullptr) return;
  throw std::invalid_argument(std::string(name) + " is null");
}

// fn(); null or 0 if it throws, and the text of the exception in *errptr.
template <typename Fn>
auto CatchForC(char** errptr, Fn fn) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    SetError(errptr, "out of memory");
  } catch (const std::exception& failure) {
    SetError(errptr, failure.what());
  }
  return decltype(fn())();
}

}  // namespace deltabloom::internal
