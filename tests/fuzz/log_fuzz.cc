// Parses any bytes as a LOG of RocksDB, for the block caches of the column
// families that it names.
//
// Input: the bytes.
#include <cstddef>
#include <string_view>

#include "tests/fuzz/harness.h"
#include "tools/deltabloom/database/block_cache.h"

namespace deltabloom::fuzz {

void FuzzOne(std::string_view text) {
  const tools::BlockCaches caches = tools::ParseBlockCaches(text);
  for (const auto& [family, cache] : caches) {
    Check(text.find(family) != std::string_view::npos);
    Check(text.find(cache.address) != std::string_view::npos);
  }
  // The end of a line may be missing: only more lines add more caches.
  const size_t end = text.rfind('\n');
  Check(tools::ParseBlockCaches(text.substr(0, end + 1)).size() ==
        caches.size());
}

}  // namespace deltabloom::fuzz
