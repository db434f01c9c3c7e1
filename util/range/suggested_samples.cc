#include "util/range/suggested_samples.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "util/coding.h"
#include "util/range/bytes.h"
#include "util/range/components.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/prefix_counts.h"
#include "util/range/sample.h"
#include "util/range/sampled_keys.h"

namespace deltabloom::internal::range {
namespace {

// Lengths of ranges between two keys, in powers of two of what lies between
// them.
constexpr unsigned kGapHalvings[] = {1, 4, 7, 10};

// Appends the scan of the first `size` bytes of the key, as if no key had them;
// none if all keys have them.
void AppendPrefixScan(const SampledKey& sampled, size_t size,
                      std::vector<Sample>* samples) {
  const int shared = sampled.SharedBelow(8 * size);
  if (shared < 0) return;
  const std::string prefix = sampled.key.substr(0, size);
  // A key that shares just these bits stands for the keys around the scan.
  std::string near = prefix.substr(0, static_cast<size_t>(shared) / 8 + 1);
  near.back() = static_cast<char>(near.back() ^ 0x80 >> shared % 8);
  std::string upper = prefix;
  while (!upper.empty() && upper.back() == '\xff') upper.pop_back();
  if (upper.empty()) return;
  ++upper.back();
  samples->push_back({prefix, std::move(upper), near, near, 1});
}

// Returns the range of 2^-halvings of what lies between the key and the next
// one that begins in the middle between them.
Sample RangeBehind(const SampledKey& sampled, unsigned halvings,
                   double weight) {
  const auto& [key, next, partings] = sampled;
  // What lies between them is counted in numbers of the 8 bytes behind those
  // that they share.
  const size_t common = CommonPrefix(key, next);
  const auto number_of = [common](const std::string& text) {
    char bytes[8] = {};
    text.copy(bytes, sizeof(bytes), common);
    return __builtin_bswap64(LoadFixed64(bytes));
  };
  const std::string beginning = key.substr(0, common);
  const auto text_of = [&beginning](uint64_t number) {
    char bytes[8];
    StoreFixed64(bytes, __builtin_bswap64(number));
    return beginning + std::string(bytes, sizeof(bytes));
  };
  const uint64_t first = number_of(key);
  const uint64_t gap = number_of(next) - first;
  const uint64_t lower = first + gap / 2;
  return {text_of(lower), text_of(lower + (gap >> halvings)), key, next,
          weight};
}

}  // namespace

void AppendSuggestedSamples(const KeyStore& keys,
                            std::vector<Sample>* samples) {
  const PrefixCounts prefixes = CountPrefixes(keys);
  for (const SampledKey& sampled : SampleKeys(keys)) {
    for (const size_t end : EndsOfComponents(sampled, prefixes)) {
      AppendPrefixScan(sampled, end, samples);
    }
    if (sampled.next.empty()) continue;
    for (const unsigned halvings : kGapHalvings) {
      Sample range =
          RangeBehind(sampled, halvings, 1.0 / std::size(kGapHalvings));
      if (range.lower < range.upper) samples->push_back(std::move(range));
    }
  }
}

std::vector<Sample> SuggestSamplesAt(const KeyStore& keys,
                                     const std::vector<Cut>& cuts) {
  std::vector<Sample> samples;
  if (cuts.empty()) return samples;
  const std::vector<SampledKey> sampled = SampleKeys(keys);
  for (const Cut& cut : cuts) {
    std::vector<Sample> at_cut;
    for (const SampledKey& key : sampled) {
      char bytes[kMaxCutBytes];
      const size_t size = PrefixOf(cut, key.key, bytes).size();
      if (size > 0 && size <= key.key.size()) {
        AppendPrefixScan(key, size, &at_cut);
      }
    }
    if (2 * at_cut.size() < sampled.size()) continue;
    samples.insert(samples.end(), at_cut.begin(), at_cut.end());
  }
  return samples;
}

}  // namespace deltabloom::internal::range
