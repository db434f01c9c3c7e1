// The prefix functions that declarations can name (prefix_function.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/prefix_function.h"

namespace deltabloom::internal::range {

// Stays where it is until its registry ends.
struct RegisteredFunction {
  PrefixFunction prefix;
  std::string text;  // NAME@VERSION
};

// The functions that are built in, and those that were added.
class Functions {
 public:
  Functions();

  // Returns what is wrong with it, or an empty string.
  std::string Add(const PrefixFunction& function);

  // The function of "NAME@VERSION", or the one of "NAME" with the highest
  // version; null if there is none.
  const RegisteredFunction* Find(std::string_view text) const;

  // Returns the names of all in order: "groups_of_8@1, kvrocks@1".
  std::string Names() const;

 private:
  std::map<std::pair<std::string, uint32_t>, RegisteredFunction> functions_;
};

// Finds a function by its text, as Functions::Find does.
using FindFunction = const RegisteredFunction* (*)(std::string_view text);

// Finds those that are built in.
const RegisteredFunction* FindBuiltInFunction(std::string_view text);

}  // namespace deltabloom::internal::range
