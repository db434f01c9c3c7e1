// Helpers of the functions for C and of those of modules.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>

#include "engines/rocksdb/base/errors.h"
#include "util/c_error.h"
#include "util/json.h"

namespace deltabloom::internal {

// Returns what fn does; null or 0 if it throws, with the line in *error.
template <typename Fn>
auto CatchLine(char** error, Fn fn) {
  std::string line;
  const auto result = Catch(&line, fn);
  if (!line.empty()) SetError(error, line, {});
  return result;
}

inline void RequireGiven(const void* argument, const char* name) {
  if (argument == nullptr) Require(std::string(name) + " is null");
}

inline std::string_view BytesOf(const char* bytes, size_t size,
                                const char* name) {
  if (size > 0) RequireGiven(bytes, name);
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
}

// Returns a copy that free() takes.
inline char* Copied(std::string_view text) {
  char* const copy = CopyForC(text);
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

// Returns a copy, that free() takes, of the statistics in one of their formats.
template <typename Statistics>
char* CopiedAs(const char* format, const Statistics& statistics) {
  const std::string wanted = format == nullptr ? "" : format;
  if (wanted == "json") return Copied(statistics.ToJson());
  if (wanted == "prometheus") return Copied(statistics.ToPrometheus());
  if (wanted != "text") {
    Require("format " + Quote(wanted) +
            " is unknown: use json, prometheus or text");
  }
  return Copied(statistics.ToText());
}

}  // namespace deltabloom::internal
