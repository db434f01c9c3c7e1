#include "shared_filters/command/keys.h"

#include <cstdint>
#include <memory>
#include <string>

#include "shared_filters/command/action.h"
#include "shared_filters/command/key_reader.h"
#include "shared_filters/command/options.h"
#include "tools/program/console.h"

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
