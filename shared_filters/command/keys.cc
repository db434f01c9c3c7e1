#include "shared_filters/command/keys.h"

#include <cstdint>

namespace deltabloom::tools {

std::unique_ptr<KeyReader> OpenKeys(const Context& context) {
  const SharedOptions& options = context.options;
  if (!options.keys.empty()) return std::make_unique<KeyReader>(options.keys);
  return std::make_unique<KeyReader>(
      options.keys_from, options.null ? '\0' : '\n', context.interrupt);
}

void ShowKeys(const KeyReader& reader, Console* console) {
  console->ShowProgress(reader.keys(), Console::kUnknown, "keys",
                        reader.name());
}

std::string Keys(uint64_t n) { return Count(n, "key", "keys"); }

}  // namespace deltabloom::tools
