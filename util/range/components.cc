#include "util/range/components.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "util/range/bytes.h"
#include "util/range/prefix_counts.h"
#include "util/range/sampled_keys.h"

namespace deltabloom::internal::range {
namespace {

bool IsText(char byte) { return byte >= ' ' && byte < 0x7f; }

// Returns where the text ends with which the key begins, 0 if there is none.
size_t EndOfText(const std::string& key) {
  const auto end = static_cast<size_t>(
      std::find_if_not(key.begin(), key.end(), IsText) - key.begin());
  return 0 < end && end < key.size() ? end + 1 : end;
}

// Returns for each byte of the key, and one behind it, whether other keys part
// from it there.
std::vector<bool> BytesThatDiffer(const SampledKey& sampled) {
  std::vector<bool> differ(sampled.key.size() + 1);
  for (const unsigned bits : sampled.partings) {
    if (bits / 8 < sampled.key.size()) differ[bits / 8] = true;
  }
  return differ;
}

}  // namespace

std::vector<size_t> EndsOfComponents(const SampledKey& sampled,
                                     const PrefixCounts& prefixes) {
  const std::string& key = sampled.key;
  const std::vector<bool> differs = BytesThatDiffer(sampled);
  const size_t text_end = EndOfText(key);
  std::vector<size_t> ends;
  bool any_differs = false;  // in the component
  for (size_t end = 1; end <= text_end; ++end) {
    any_differs = any_differs || differs[end - 1];
    const bool goes_on = end < text_end && IsAlphanumeric(key[end - 1]);
    if (!any_differs || goes_on) continue;
    ends.push_back(end);
    any_differs = false;
  }
  for (size_t i = text_end; i < key.size(); ++i) {
    if (!differs[i]) continue;
    size_t last = i;  // of the bytes in a row
    while (differs[last + 1]) ++last;
    for (; i < last; ++i) {
      if (2 * prefixes.At(8 * (i + 1)) <= prefixes.At(8 * (last + 1))) {
        ends.push_back(i + 1);
      }
    }
    ends.push_back(last + 1);
  }
  return ends;
}

}  // namespace deltabloom::internal::range
