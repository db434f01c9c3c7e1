// The scans that keys alone suggest.
//
// The scans of tomorrow look for groups like those that exist today. So for
// some keys, spread evenly, each of their groups is taken away and then asked
// for: a group is what shares a component of the key and all before it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "util/coding.h"
#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"

namespace deltabloom::internal::range {
namespace {

// Each suggests some scans.
constexpr uint64_t kKeysForSamples = 64;
// Lengths of ranges between two keys, in powers of two of what lies between
// them.
constexpr unsigned kGapHalvings[] = {1, 4, 7, 10};

bool IsAlphanumeric(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z');
}

bool IsText(char byte) { return byte >= ' ' && byte < 0x7f; }

// A key with all depths, in bits, at which other keys part from it.
struct SampledKey {
  std::string key, next;
  std::vector<unsigned> partings;  // ascending, distinct

  // The most bits that a key shares with it which does not share the first
  // `bits` bits; -1 if all keys do.
  int SharedBelow(size_t bits) const {
    const auto other = std::lower_bound(partings.begin(), partings.end(), bits);
    return other == partings.begin() ? -1 : static_cast<int>(other[-1]);
  }
};

std::vector<SampledKey> SampleKeys(const KeyStore& keys) {
  const uint64_t distance =
      std::max<uint64_t>(1, keys.size() / kKeysForSamples);
  std::vector<SampledKey> sampled;
  std::vector<unsigned> shared_with_last;  // of each key, as far as it matters
  // The depths at which the present key and earlier ones part, ascending.
  std::vector<unsigned> path;
  uint64_t until = distance / 2;
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    const unsigned shared = cursor.shared_bits();
    while (!path.empty() && path.back() >= shared) path.pop_back();
    path.push_back(shared);
    // A key that was sampled later shares no less with this one.
    for (size_t i = sampled.size(); i > 0;) {
      --i;
      if (shared_with_last[i] <= shared) break;
      if (sampled[i].next.empty()) sampled[i].next = cursor.key();
      shared_with_last[i] = shared;
      sampled[i].partings.push_back(shared);
    }
    if (until-- > 0) continue;
    until = distance - 1;
    sampled.push_back({std::string(cursor.key()), {}, path});
    shared_with_last.push_back(~0u);
  }
  for (SampledKey& key : sampled) {
    std::vector<unsigned>& partings = key.partings;
    std::sort(partings.begin(), partings.end());
    partings.erase(std::unique(partings.begin(), partings.end()),
                   partings.end());
  }
  return sampled;
}

// The scan of the first `size` bytes of the key, as if no key had them; none if
// all keys have them.
void AddPrefixScan(const SampledKey& sampled, size_t size, double weight,
                   std::vector<Sample>* samples) {
  const int shared = sampled.SharedBelow(8 * size);
  if (shared < 0) return;
  const std::string prefix = sampled.key.substr(0, size);
  // A key that shares just these bits.
  std::string near = prefix.substr(0, static_cast<size_t>(shared) / 8 + 1);
  near.back() = static_cast<char>(near.back() ^ 0x80 >> shared % 8);
  std::string upper = prefix;
  while (!upper.empty() && upper.back() == '\xff') upper.pop_back();
  if (upper.empty()) return;
  ++upper.back();
  samples->push_back({prefix, std::move(upper), near, near, weight});
}

// Where components of the key end, of which other keys have others.
//
// A key is text up to its first byte that is no printable character, which
// belongs to it. A component of text ends after each byte that is neither
// letter nor digit, and with the text. Behind the text a component ends with
// the last of several bytes in a row at which keys part; and within these where
// keys have at most half as many prefixes as there, as where random bytes
// follow an id.
std::vector<size_t> EndsOfComponents(const SampledKey& sampled,
                                     const std::vector<uint64_t>& prefixes) {
  const std::string& key = sampled.key;
  const auto prefixes_at = [&](size_t bytes) {
    return prefixes[std::min(8 * bytes, prefixes.size() - 1)];
  };
  std::vector<bool> parts(key.size() + 1);
  for (const unsigned bits : sampled.partings) {
    if (bits / 8 < key.size()) parts[bits / 8] = true;
  }
  auto text_end = static_cast<size_t>(
      std::find_if_not(key.begin(), key.end(), IsText) - key.begin());
  if (0 < text_end && text_end < key.size()) ++text_end;
  std::vector<size_t> ends;
  bool any_parts = false;  // in the component
  for (size_t end = 1; end <= text_end; ++end) {
    any_parts = any_parts || parts[end - 1];
    if (!any_parts || (end < text_end && IsAlphanumeric(key[end - 1])))
      continue;
    ends.push_back(end);
    any_parts = false;
  }
  for (size_t i = text_end; i < key.size(); ++i) {
    if (!parts[i]) continue;
    size_t last = i;
    while (parts[last + 1]) ++last;
    for (; i < last; ++i) {
      if (2 * prefixes_at(i + 1) <= prefixes_at(last + 1))
        ends.push_back(i + 1);
    }
    ends.push_back(last + 1);
  }
  return ends;
}

// A range of 2^-halvings of what lies between two keys, in its middle.
Sample RangeBetween(const std::string& key, const std::string& next,
                    unsigned halvings, double weight) {
  const size_t common = CommonPrefix(key, next);
  const auto number_of = [&](const std::string& text) {
    char bytes[8] = {};
    text.copy(bytes, sizeof(bytes), common);
    return __builtin_bswap64(LoadFixed64(bytes));
  };
  const auto text_of = [&](uint64_t number) {
    char bytes[8];
    StoreFixed64(bytes, __builtin_bswap64(number));
    return key.substr(0, common).append(bytes, sizeof(bytes));
  };
  const uint64_t first = number_of(key);
  const uint64_t gap = number_of(next) - first;
  const uint64_t lower = first + gap / 2;
  return {text_of(lower), text_of(lower + (gap >> halvings)), key, next,
          weight};
}

}  // namespace

void SuggestSamples(const KeyStore& keys, std::vector<Sample>* samples) {
  std::vector<uint64_t> prefixes{1};
  for (const uint64_t count : keys.SharedBits()) {
    prefixes.push_back(prefixes.back() + count);
  }
  for (const SampledKey& sampled : SampleKeys(keys)) {
    for (const size_t end : EndsOfComponents(sampled, prefixes)) {
      AddPrefixScan(sampled, end, 1, samples);
    }
    if (sampled.next.empty()) continue;
    for (const unsigned halvings : kGapHalvings) {
      Sample range = RangeBetween(sampled.key, sampled.next, halvings,
                                  1.0 / std::size(kGapHalvings));
      if (range.lower < range.upper) samples->push_back(std::move(range));
    }
  }
}

void SuggestSamplesAt(const KeyStore& keys, const std::vector<Cut>& cuts,
                      std::vector<Sample>* samples) {
  if (cuts.empty()) return;
  const std::vector<SampledKey> sampled = SampleKeys(keys);
  for (const Cut& cut : cuts) {
    std::vector<Sample> at_cut;
    for (const SampledKey& key : sampled) {
      char bytes[kMaxCutBytes];
      const size_t size = PrefixOf(cut, key.key, bytes).size();
      if (size > 0 && size <= key.key.size()) {
        AddPrefixScan(key, size, 1, &at_cut);
      }
    }
    if (2 * at_cut.size() < sampled.size()) continue;
    samples->insert(samples->end(), at_cut.begin(), at_cut.end());
  }
}

}  // namespace deltabloom::internal::range
