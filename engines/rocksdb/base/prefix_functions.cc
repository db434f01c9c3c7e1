#include "engines/rocksdb/base/prefix_functions.h"

#include <string>
#include <string_view>

#include "deltabloom/prefix_function.h"
#include "engines/rocksdb/base/process.h"
#include "util/range/functions.h"

namespace deltabloom {

bool RegisterPrefixFunction(const PrefixFunction& function,
                            std::string* error) {
  const std::string wrong =
      internal::TheProcess().prefix_functions.Lock()->Add(function);
  if (wrong.empty()) return true;
  if (error != nullptr) *error = "deltabloom: " + wrong;
  return false;
}

namespace internal {

const range::RegisteredFunction* FindPrefixFunction(std::string_view text) {
  return TheProcess().prefix_functions.Lock()->Find(text);
}

}  // namespace internal
}  // namespace deltabloom
