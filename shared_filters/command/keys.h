// Keys in batches, for the commands that read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared_filters/command/action.h"
#include "shared_filters/command/key_reader.h"

namespace deltabloom::tools {

// The keys that the options name.
std::unique_ptr<KeyReader> OpenKeys(const Context& context);

// Shows how many keys were read as progress.
void ShowKeys(const KeyReader& reader, Console* console);

// "1 key", "2 keys".
std::string Keys(uint64_t n);

// The most keys that one call of the library gets.
inline constexpr size_t kMaxBatch = 1000;

// Calls fn(keys, n) for all keys, at most kMaxBatch at a time.
template <typename Fn>
void ForEachBatch(const Context& context,
                  const std::vector<std::string_view>& keys, Fn fn) {
  for (size_t at = 0; at < keys.size(); at += kMaxBatch) {
    context.interrupt->Check();
    fn(&keys[at], std::min(keys.size() - at, kMaxBatch));
  }
}

// Calls fn(keys, n) for all keys of the reader, and shows progress.
template <typename Fn>
void ForEachBatch(const Context& context, KeyReader* reader, Fn fn) {
  for (;;) {
    const std::vector<std::string_view>& keys = reader->Next();
    if (keys.empty()) return;
    ForEachBatch(context, keys, fn);
    ShowKeys(*reader, context.console);
  }
}

}  // namespace deltabloom::tools
