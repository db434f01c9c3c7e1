#include "util/key_batch.h"

#include <algorithm>

namespace deltabloom::internal {

void MayMatchViews(const ParsedFilter& parsed, const std::string_view* keys,
                   size_t n, bool* may_match) {
  KeyBytes bytes[kBatch];
  const KeyBytes* pointers[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      bytes[i] = {keys[begin + i].data(), keys[begin + i].size()};
      pointers[i] = &bytes[i];
    }
    parsed.may_match_many(parsed, KeyBatch(pointers), batch, may_match + begin);
  }
}

}  // namespace deltabloom::internal
