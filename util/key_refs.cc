#include "util/key_refs.h"

#include <algorithm>

namespace deltabloom::internal {

void MayMatchViews(const ParsedFilter& parsed, const std::string_view* keys,
                   size_t n, bool* may_match) {
  KeyRef refs[kBatch];
  const KeyRef* pointers[kBatch];
  for (size_t begin = 0; begin < n; begin += kBatch) {
    const size_t batch = std::min(kBatch, n - begin);
    for (size_t i = 0; i < batch; ++i) {
      refs[i] = {keys[begin + i].data(), keys[begin + i].size()};
      pointers[i] = &refs[i];
    }
    parsed.may_match_many(parsed, KeyRefs(pointers), batch, may_match + begin);
  }
}

}  // namespace deltabloom::internal
