#include "util/range/sampled_keys.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "util/range/key_store.h"

namespace deltabloom::internal::range {
namespace {

// 64 to 127 keys are sampled. docs/design.md compares other numbers.
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
  // At [i] the bits that sampled[i] shares with the present key. Each key that
  // follows shares no more with it than the one before.
  std::vector<unsigned> shared_with;
  // The depths at which earlier keys part from the present one, ascending: in a
  // tree of the keys, the branches on the way to the present key.
  //
  //   depth   0      3      5
  //           +-- a  |      |
  //           |      +-- b  |       The present key d parts from a at 0, from
  //           |      |      +-- c   b at 3 and from c at 5: path is {0, 3, 5}.
  //           +------+------+-- d
  //
  // If the next key shares 4 bits with d, the branch at 5 is behind it, and d
  // itself parts from it at 4: path becomes {0, 3, 4}.
  std::vector<unsigned> path;
  bool is_first = true;
  uint64_t until_next = distance / 2;
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    const unsigned shared = cursor.shared_bits();
    while (!path.empty() && path.back() >= shared) path.pop_back();
    if (!is_first) path.push_back(shared);  // no key parts from the first one
    is_first = false;
    // Sampled keys that shared more than `shared` bits with the key before part
    // from the present one at `shared`. They are the last ones in `sampled`, as
    // a key that was sampled later shares no less.
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
