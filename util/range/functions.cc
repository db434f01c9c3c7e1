#include "util/range/functions.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/prefix_function.h"
#include "util/json.h"
#include "util/range/bytes.h"

namespace deltabloom::internal::range {
namespace {

// deltabloom/prefix_function.h has the same limit.
constexpr size_t kMaxNameSize = 64;

constexpr std::string_view kNameBytes =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
constexpr size_t kLetters = 2 * 26;  // at the beginning of kNameBytes

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameSize && name != "auto" &&
         kNameBytes.find(name[0]) < kLetters &&
         name.find_first_not_of(kNameBytes) == std::string_view::npos;
}

void GroupsOf8(std::string_view key, std::vector<size_t>* ends) {
  constexpr size_t kGroup = 8;
  for (size_t at = kGroup; at < key.size(); at += kGroup + 1) {
    const unsigned marker = ByteAt(key, at);
    if (marker == 255 || marker == 9) continue;
    if (marker > 8 && marker < 247) return;
    ends->push_back(at + 1);
  }
}

void Kvrocks(std::string_view key, std::vector<size_t>* ends) {
  size_t end = 0;
  // Adds the end of the next `bytes` bytes. Returns false if the key does not
  // have them.
  const auto go_on = [&](size_t bytes) {
    if (key.size() - end < bytes) return false;
    end += bytes;
    ends->push_back(end);
    return true;
  };
  constexpr size_t kSizeBytes = 4;
  constexpr size_t kVersionBytes = 8;
  if (key.empty() || !go_on(1 + size_t{ByteAt(key, 0)})) return;
  if (key.size() - end < kSizeBytes) return;
  size_t size = 0;
  for (size_t i = 0; i < kSizeBytes; ++i)
    size = size << 8 | ByteAt(key, end + i);
  if (go_on(kSizeBytes + size)) go_on(kVersionBytes);
}

}  // namespace

Functions::Functions() {
  Add({"groups_of_8", 1, GroupsOf8});
  Add({"kvrocks", 1, Kvrocks});
}

std::string Functions::Add(const PrefixFunction& function) {
  const std::string& name = function.name;
  if (!IsName(name)) {
    return "prefix function: the name " + Quote(name) +
           " is not legal: use 1 to 64 letters, digits, '_', '-' and '.', the "
           "first a letter, not 'auto'";
  }
  if (function.version == 0) {
    return "prefix function " + name +
           ": version 0 is not legal: use 1 or more";
  }
  if (!function.function) return "prefix function " + name + ": no function";
  const std::string text = name + "@" + std::to_string(function.version);
  const bool added = functions_
                         .emplace(std::pair(name, function.version),
                                  RegisteredFunction{function, text})
                         .second;
  if (added) return {};
  return "prefix function " + text +
         " is registered already: a function with other results needs another "
         "version";
}

const RegisteredFunction* Functions::Find(std::string_view text) const {
  const RegisteredFunction* found = nullptr;
  for (const auto& [key, function] : functions_) {
    if (function.text == text || key.first == text) found = &function;
  }
  return found;
}

std::string Functions::Names() const {
  std::string names;
  for (const auto& [key, function] : functions_) {
    names += (names.empty() ? "" : ", ") + function.text;
  }
  return names;
}

const RegisteredFunction* FindBuiltInFunction(std::string_view text) {
  static const auto& functions = *new Functions();
  return functions.Find(text);
}

}  // namespace deltabloom::internal::range
