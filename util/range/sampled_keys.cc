#include "util/range/sampled_keys.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "util/range/key_store.h"

namespace deltabloom::internal::range {
namespace {

// docs/design.md compares numbers of keys.
constexpr uint64_t kKeysForSamples = 64;

}  // namespace

int SampledKey::SharedBelow(size_t bits) const {
  const auto other = std::lower_bound(partings.begin(), partings.end(), bits);
  return other == partings.begin() ? -1 : static_cast<int>(other[-1]);
}

std::vector<SampledKey> SampleKeys(const KeyStore& keys) {
  const uint64_t distance =
      std::max<uint64_t>(1, keys.size() / kKeysForSamples);
  std::vector<SampledKey> sampled;
  // The bits that the present key shares with each of them, as long as they
  // become fewer.
  std::vector<unsigned> shared_with;
  // The depths at which earlier keys part from the present one, ascending.
  std::vector<unsigned> path;
  uint64_t until_next = distance / 2;
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    const unsigned shared = cursor.shared_bits();
    while (!path.empty() && path.back() >= shared) path.pop_back();
    path.push_back(shared);
    // A key that was sampled later shares no less with this one, so the walk
    // ends with the first that shared no more with the key before.
    for (size_t i = sampled.size(); i > 0;) {
      --i;
      if (shared_with[i] <= shared) break;
      if (sampled[i].next.empty()) sampled[i].next = cursor.key();
      shared_with[i] = shared;
      sampled[i].partings.push_back(shared);
    }
    if (until_next-- > 0) continue;
    until_next = distance - 1;
    sampled.push_back({std::string(cursor.key()), {}, path});
    shared_with.push_back(~0u);
  }
  for (SampledKey& key : sampled) {
    std::vector<unsigned>& partings = key.partings;
    std::sort(partings.begin(), partings.end());
    partings.erase(std::unique(partings.begin(), partings.end()),
                   partings.end());
  }
  return sampled;
}

}  // namespace deltabloom::internal::range
