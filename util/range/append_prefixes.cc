// Writing prefixes: which cuts, with how many bits per prefix each.
//
// A range that a cut can reject passes its filter of b bits per prefix with a
// probability of about m * 2^-b, m being the prefixes that it asks for, and
// passes the part with the product over the cuts. Bits are bought greedily for
// the cut that lets the fewest ranges pass per bit spent; a cut with few
// distinct prefixes is cheap. The ranges are the sample questions that hold no
// key, or made up of the keys.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash64.h"
#include "util/hash_list.h"
#include "util/range/shapes.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kHeaderSize = 4;
constexpr size_t kBytesAfterCut = 8;
constexpr size_t kBytesOfDelimited = 64;  // of the last key
constexpr unsigned kMaxBits = 24;         // per prefix
constexpr unsigned kFirstBits = 2;        // of a cut that is chosen
constexpr unsigned kMostBitsAtOnce = 4;
// A bit per key must turn away this share of the ranges.
constexpr double kLeastGain = 1e-4;
// Layout local builds in a sixth of compact's time, and its rate falls by 0.69
// bits per bit. It is for cuts of few prefixes, and for those beyond this many
// per key in all.
constexpr double kCompactPerKey = 1;
constexpr double kBloomBits = 0.69;
constexpr uint64_t kFewPrefixes = 200;
// The most prefixes per key in all filters, with a sample and without: they
// take time and memory.
constexpr double kPrefixesPerKey = 4;
constexpr double kPrefixesPerKeyFromKeys = 2;

// Candidates.
constexpr size_t kQuantiles = 8;
constexpr size_t kMaxLengths = 24;
constexpr double kRangesPerDelimiter = 20;
constexpr unsigned kMaxDelimiterCount = 16;
// Made-up ranges.
constexpr uint64_t kSampledKeys = 64;
constexpr uint64_t kMostKinds = 8;
constexpr double kWeightOfComponents = 3;
constexpr double kWeightOfGaps = 5;
constexpr double kWeightOfGapsInGroups = 0.5;
constexpr unsigned kLeastJump = 10;  // bits
constexpr double kWeightOfLearned = 20;
constexpr double kWeightOfShorter = 1.0 / 64;
constexpr size_t kFewer = 2;
constexpr int kRangesPerGap = 4;
constexpr unsigned kMostHalvings = 10;
constexpr double kDense = 1.5;

bool IsAlphanumeric(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z');
}

Cut BitsCut(unsigned bits) { return {0, 0, static_cast<uint16_t>(bits)}; }

// --- Ranges made up of keys -------------------------------------------------

// The range of a prefix as if no key had it: the nearest ones share
// `shared_bits` with it.
EmptyRange RangeOfPrefix(std::string prefix, unsigned shared_bits,
                         double weight) {
  std::string near = prefix.substr(0, shared_bits / 8 + 1);
  near.back() = static_cast<char>(near.back() ^ 0x80 >> shared_bits % 8);
  std::string upper = prefix;
  while (!upper.empty() && upper.back() == '\xff') upper.pop_back();
  if (!upper.empty()) ++upper.back();
  return {std::move(prefix), std::move(upper), near, near, weight};
}

// A range of 2^-halvings of what lies between two keys, in its middle.
EmptyRange RangeBetween(const std::string& key, const std::string& next,
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

// The keys of each kind: those that begin alike, if there are few kinds.
std::vector<uint64_t> SizesOfKinds(const KeyStore& keys) {
  unsigned bits = 0;
  while (bits < kMaxCutBits && keys.DistinctPrefixes(bits + 8) <= kMostKinds) {
    bits += 8;
  }
  if (keys.DistinctPrefixes(bits) == 1) return {keys.size()};
  std::vector<uint64_t> sizes;
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    if (sizes.empty() || cursor.shared_bits() < bits) sizes.push_back(0);
    ++sizes.back();
  }
  return sizes;
}

// For some keys: the ranges of each of their prefixes that parts them from
// other keys, as if the keys with that prefix did not exist; and, where keys
// are sparse, ranges between the key and the next one, as the smallest of these
// prefixes can be much larger than what lies between keys. The ranges of the
// key's prefixes at `learned` cuts go to *of_learned.
std::vector<EmptyRange> MakeUpRanges(const KeyStore& keys,
                                     const std::vector<Cut>& learned,
                                     std::vector<EmptyRange>* of_learned) {
  struct Sampled {
    std::string key, next;
    std::vector<unsigned> shared;  // bits, with other keys
    unsigned shared_with_last = ~0u;
  };
  std::vector<Sampled> samples;
  // Half of the samples are spread evenly over the keys, half over their kinds.
  const std::vector<uint64_t> kinds = SizesOfKinds(keys);
  auto kind = kinds.begin();
  uint64_t left = 0;  // of the kind
  uint64_t distance = 0;
  uint64_t until = 0;  // the next sample, in keys
  // The last key that shared this many bits with the one before it.
  std::array<uint64_t, kMaxCutBits + 1> last_sharing = {};
  uint64_t place = 0;
  for (KeyStore::Cursor cursor(keys); cursor.Next(); ++place) {
    const unsigned shared = cursor.shared_bits();
    last_sharing[shared] = place;
    // A key that is sampled later shares no less with the last one.
    for (auto i = samples.rbegin();
         i != samples.rend() && i->shared_with_last > shared; ++i) {
      if (i->next.empty()) i->next = cursor.key();
      i->shared_with_last = shared;
      i->shared.push_back(shared);
    }
    if (left == 0) {
      left = *kind++;
      const uint64_t sampled =
          (kSampledKeys * left / keys.size() + kSampledKeys / kinds.size()) / 2;
      distance = std::max<uint64_t>(1, left / std::max<uint64_t>(1, sampled));
      until = (left - distance / 2) % distance;
    }
    --left;
    if (until-- == 0) {
      until = distance - 1;
      Sampled& sampled = samples.emplace_back();
      sampled.key = cursor.key();
      // With earlier keys it shares the fewest bits from there on.
      uint64_t latest = 0;
      for (unsigned bits = 0; bits <= 8 * sampled.key.size(); ++bits) {
        if (last_sharing[bits] <= latest) continue;
        latest = last_sharing[bits];
        sampled.shared.push_back(bits);
      }
    }
  }
  std::vector<EmptyRange> ranges;
  const auto add = [](EmptyRange range, std::vector<EmptyRange>* to) {
    if (range.lower < range.upper) to->push_back(std::move(range));
  };
  unsigned halvings = 0;
  for (Sampled& sampled : samples) {
    const std::string& key = sampled.key;
    std::vector<unsigned>& shared = sampled.shared;
    std::sort(shared.begin(), shared.end());
    // Whether other prefixes can be nearer than those of this key: most of
    // them exist, or letters and digits, which share 3 bits.
    const auto dense = [&](unsigned bits) {
      const unsigned begin = bits / 8 * 8;
      return (IsAlphanumeric(key[bits / 8]) && bits % 8 >= 3) ||
             static_cast<double>(keys.DistinctPrefixes(begin + 8)) >
                 kDense * static_cast<double>(keys.DistinctPrefixes(begin));
    };
    const auto add_prefix = [&](size_t size, unsigned bits, double weight) {
      add(RangeOfPrefix(key.substr(0, size), dense(bits) ? bits | 7 : bits,
                        weight),
          &ranges);
    };
    for (size_t i = 0; i < shared.size() && shared[i] / 8 < key.size(); ++i) {
      const size_t size = shared[i] / 8 + 1;
      if (i + 1 < shared.size() && shared[i + 1] < 8 * size) continue;
      add_prefix(size, shared[i], 1);
    }
    // Up to a delimiter, and the whole key.
    size_t begin = 0;
    for (size_t end = 1; end <= key.size(); ++end) {
      if (end < key.size() && IsAlphanumeric(key[end - 1])) continue;
      // A byte that is no character is often part of what follows.
      const bool is_graphic = key[end - 1] > ' ' && key[end - 1] < 0x7f;
      for (size_t size = is_graphic ? end : end - 1; size <= end; ++size) {
        const auto other =
            std::lower_bound(shared.begin(), shared.end(), 8 * size);
        if (size > begin + 1 && other != shared.begin() &&
            other[-1] >= 8 * begin) {
          add_prefix(size, other[-1], kWeightOfComponents);
        }
      }
      begin = end;
    }
    for (const Cut& cut : learned) {
      char bytes[kMaxCutBytes];
      const size_t size = PrefixOf(cut, key, bytes).size();
      const auto other =
          std::lower_bound(shared.begin(), shared.end(), 8 * size);
      if (size > key.size() || other == shared.begin()) continue;
      add(RangeOfPrefix(key.substr(0, size), other[-1], kWeightOfLearned),
          of_learned);
    }
    // A dense key's neighbours leave no room for ranges that hold no key.
    const bool parts = !shared.empty() && shared.back() / 8 < key.size();
    if (sampled.next.empty() || !parts || dense(shared.back())) continue;
    // Where all keys that begin like the last ones begin alike for longer, they
    // are a group, of which scans are more likely than of what lies in it.
    const auto is_jump = [](unsigned a, unsigned b) {
      return b > a + kLeastJump;
    };
    const bool in_group = std::adjacent_find(shared.begin(), shared.end(),
                                             is_jump) != shared.end();
    for (int i = 0; i < kRangesPerGap; ++i) {
      halvings = halvings % kMostHalvings + 1;
      add(RangeBetween(key, sampled.next, halvings,
                       in_group ? kWeightOfGapsInGroups : kWeightOfGaps),
          &ranges);
    }
  }
  return ranges;
}

// Where a sample's prefixes get far fewer from size to size, as numbers in text
// do, the next smaller size may be too rare for the sample.
void AddShorterPrefixes(std::vector<EmptyRange>* ranges) {
  std::array<size_t, kMaxCutBytes + 2> of_size = {};
  for (const EmptyRange& range : *ranges) {
    ++of_size[KeyRange(range.lower, range.upper).common];
  }
  for (size_t i = 0, sampled = ranges->size(); i < sampled; ++i) {
    const EmptyRange& range = (*ranges)[i];
    const size_t size = KeyRange(range.lower, range.upper).common;
    if (size < 2 || of_size[size + 1] < kFewer * of_size[size] ||
        of_size[size - 1] > 0) {
      continue;
    }
    EmptyRange shorter =
        RangeOfPrefix(range.lower.substr(0, size - 1),
                      static_cast<unsigned>(8 * (size - 1) - 1),
                      kWeightOfShorter * range.weight);
    if (shorter.lower < shorter.upper) ranges->push_back(std::move(shorter));
  }
}

// --- Candidates -------------------------------------------------------------

// The prefixes that the range asks for at the cut; 0 if the cut cannot say that
// it is empty.
uint8_t PrefixesThatReject(const Cut& cut, const EmptyRange& empty,
                           size_t least_size) {
  const KeyRange range(empty.lower, empty.upper);
  PrefixesOfRange asked(cut, range, least_size);
  if (!asked.known()) return 0;
  const auto count = static_cast<uint8_t>(asked.left());
  char bytes[2][kMaxCutBytes];
  const std::string_view before = PrefixOf(cut, empty.before, bytes[0]);
  const std::string_view after = PrefixOf(cut, empty.after, bytes[1]);
  for (; asked.left() > 0; asked.Next()) {
    if (asked.prefix() == before || asked.prefix() == after) return 0;
  }
  return std::max<uint8_t>(count, 1);
}

// Quantiles of the shallowest cuts that reject a range (whole bytes where keys
// differ in size), of the deepest that apply to one, and of those halfway; and
// a cut for each range that none of them rejects. Where keys differ in size,
// also the last byte that all keys of a range share as a delimiter, unless it
// is a letter or a digit, if it is that of a twentieth of the ranges.
std::vector<Cut> CutsFor(const std::vector<EmptyRange>& ranges,
                         size_t least_size, bool one_width) {
  std::vector<unsigned> shallowest, middles, deepest;
  std::vector<std::pair<unsigned, unsigned>> rejecting;      // first, last
  std::map<std::pair<uint8_t, uint8_t>, double> delimiters;  // byte, count
  double all = 0;
  for (const EmptyRange& empty : ranges) {
    all += empty.weight;
    const KeyRange range(empty.lower, empty.upper);
    const auto rejects = [&](unsigned bits) {
      return PrefixesThatReject(BitsCut(bits), empty, least_size) > 0;
    };
    auto deep = static_cast<unsigned>(8 * std::min(range.common, kMaxCutBytes));
    while (deep < kMaxCutBits && range.lower.size() > range.common) {
      const Cut next = BitsCut(deep + 1);
      if (!PrefixesOfRange(next, range, least_size).known()) break;
      ++deep;
    }
    if (deep > 0 && rejects(deep)) {
      deepest.push_back(deep);
      if (deep > 8 * range.common + 2) deepest.push_back(deep - 2);
      const unsigned last = deep;
      unsigned no = 0;
      while (deep - no > 1) {
        const unsigned middle = no + (deep - no) / 2;
        (rejects(middle) ? deep : no) = middle;
      }
      const unsigned step = one_width ? 1 : 8;
      deep = std::min(last, (deep + step - 1) / step * step);
      shallowest.push_back(deep);
      middles.push_back((deep + last) / 2 / step * step);
      rejecting.emplace_back(deep, last);
    }
    if (one_width || range.common == 0 || range.common > kMaxCutBytes) continue;
    const std::string_view common = range.lower.substr(0, range.common);
    if (IsAlphanumeric(common.back())) continue;
    const auto count = static_cast<uint8_t>(
        std::count(common.begin(), common.end(), common.back()));
    if (count > kMaxDelimiterCount) continue;
    delimiters[{static_cast<uint8_t>(common.back()), count}] += empty.weight;
  }
  std::set<unsigned> bits;
  for (std::vector<unsigned>* values : {&shallowest, &middles, &deepest}) {
    std::sort(values->begin(), values->end());
    for (size_t i = 0; i < kQuantiles && !values->empty(); ++i) {
      bits.insert((*values)[(2 * i + 1) * values->size() / (2 * kQuantiles)]);
    }
  }
  std::sort(rejecting.rbegin(), rejecting.rend());
  for (const auto& [first, last] : rejecting) {
    if (bits.size() >= kMaxLengths) break;
    const auto cut = bits.lower_bound(first);
    if (cut == bits.end() || *cut > last) bits.insert(first);
  }
  // Of equal candidates the first is bought. A delimiter fits more ranges than
  // those of the sample.
  std::vector<Cut> cuts;
  for (const auto& [delimiter, weight] : delimiters) {
    if (weight * kRangesPerDelimiter < all) continue;
    cuts.push_back({delimiter.second, delimiter.first, 0});
  }
  for (const unsigned value : bits) cuts.push_back(BitsCut(value));
  return cuts;
}

// How many distinct prefixes the keys have at each cut.
std::vector<PlannedCut> CountPrefixes(const KeyStore& keys,
                                      const std::vector<Cut>& cuts) {
  struct Delimiter {
    std::array<uint64_t, 256> prefixes = {};  // up to the i-th one in a key
    size_t in_key = 0;
  };
  std::map<uint8_t, Delimiter> delimiters;
  std::array<Delimiter*, 256> of_byte = {};
  for (const Cut& cut : cuts) {
    if (cut.count > 0) of_byte[cut.byte] = &delimiters[cut.byte];
  }
  std::vector<std::pair<size_t, Delimiter*>> places;  // in the last key
  KeyStore::Cursor cursor(keys);
  while (!delimiters.empty() && cursor.Next()) {
    for (; !places.empty() && places.back().first >= cursor.shared();
         places.pop_back()) {
      --places.back().second->in_key;
    }
    for (size_t at = cursor.shared(); at < cursor.key().size(); ++at) {
      Delimiter* const delimiter = of_byte[ByteAt(cursor.key(), at)];
      if (delimiter == nullptr) continue;
      places.emplace_back(at, delimiter);
      ++delimiter->prefixes[++delimiter->in_key];
    }
  }
  std::vector<PlannedCut> counted;
  for (const Cut& cut : cuts) {
    counted.push_back({cut, cut.count > 0
                                ? of_byte[cut.byte]->prefixes[cut.count]
                                : keys.DistinctPrefixes(cut.bits)});
  }
  return counted;
}

// --- Buying bits ------------------------------------------------------------

// For each range the prefixes it asks for at each candidate, 0 where that
// candidate cannot reject it; and the weight of the ranges that are like that.
using Asked = std::map<std::vector<uint8_t>, double>;

// Bytes of the filter of a cut.
double CostOf(const PlannedCut& cut, unsigned bits) {
  if (bits == 0) return 0;
  const Plan plan =
      PlanFilter(FindLayout(cut.layout), cut.prefixes, 1000 * bits);
  return static_cast<double>(plan.payload_size + 1 + kCutSize);
}

// The share of ranges that ask for m prefixes and pass.
double Passing(Layout layout, unsigned m, unsigned bits) {
  const double rate =
      std::exp2(-(layout == Layout::kLocal ? kBloomBits : 1.0) * bits);
  return std::min(1.0, m * rate);
}

// The cuts with the bits that are bought for those in [first, last).
// `most_prefixes`: in all cuts.
PrefixesPlan Buy(double keys, double bytes, double most_prefixes,
                 const Asked& asked, std::vector<PlannedCut> cuts, size_t first,
                 size_t last) {
  double compact = kCompactPerKey * keys;
  double ranges = 0;
  std::vector<double> passing;
  std::vector<std::vector<uint8_t>> prefixes(last);  // of each cut
  for (const auto& [row, weight] : asked) {
    ranges += passing.emplace_back(weight);
    for (size_t i = first; i < last; ++i) prefixes[i].push_back(row[i]);
  }
  for (size_t chosen = 0;;) {
    PlannedCut* best = nullptr;
    unsigned best_bits = 0;
    double best_gain = 8 * kLeastGain * ranges / keys;
    for (size_t index = first; index < last; ++index) {
      PlannedCut& cut = cuts[index];
      const auto n = static_cast<double>(cut.prefixes);
      if (cut.bits == 0) {
        if (chosen == kMaxCuts || n < 2 || n > most_prefixes) continue;
        cut.layout = n > compact || cut.prefixes < kFewPrefixes
                         ? Layout::kLocal
                         : Layout::kCompact;
      }
      std::array<double, kMaxPrefixesPerRange + 1> by_prefixes = {};
      for (size_t q = 0; q < passing.size(); ++q) {
        const uint8_t m = prefixes[index][q];
        if (m > 0) by_prefixes[m] += passing[q];
      }
      const unsigned step = cut.bits == 0 ? kFirstBits : 1;
      const unsigned most = std::min(cut.bits + kMostBitsAtOnce, kMaxBits);
      for (unsigned bits = cut.bits + step; bits <= most; bits += step) {
        const double price = CostOf(cut, bits) - CostOf(cut, cut.bits);
        if (price > bytes) break;
        double gain = 0;
        for (unsigned m = 1; m < by_prefixes.size(); ++m) {
          if (by_prefixes[m] == 0) continue;
          gain += by_prefixes[m] * (1 - Passing(cut.layout, m, bits) /
                                            Passing(cut.layout, m, cut.bits));
        }
        gain /= std::max(price, 0.125);
        if (gain > best_gain) {
          best = &cut;
          best_bits = bits;
          best_gain = gain;
        }
      }
    }
    if (best == nullptr) {
      return {std::move(cuts),
              std::accumulate(passing.begin(), passing.end(), 0.0)};
    }
    const auto index = static_cast<size_t>(best - cuts.data());
    size_t q = 0;
    best->rejects = 0;
    for (const auto& [row, weight] : asked) {
      double& pass = passing[q++];
      if (row[index] == 0) continue;
      const double rate = Passing(best->layout, row[index], best_bits);
      pass *= rate / Passing(best->layout, row[index], best->bits);
      best->rejects += weight * (1 - rate);
    }
    if (best->bits == 0) {
      ++chosen;
      const auto n = static_cast<double>(best->prefixes);
      most_prefixes -= n;
      if (best->layout == Layout::kCompact) compact -= n;
    }
    bytes -= CostOf(*best, best_bits) - CostOf(*best, best->bits);
    best->bits = best_bits;
  }
}

// --- Bytes ------------------------------------------------------------------

// What is stored of the first key.
std::string_view BeginningOfFirst(const KeyStore& keys) {
  return keys.First().substr(
      0, CommonPrefix(keys.First(), keys.Last()) + kBytesAfterCut);
}

// The hashes of the distinct prefixes of one cut.
struct CutHashes {
  static constexpr size_t kNone = ~size_t{0};

  const Cut cut;
  const LayoutRow* const row;
  // Keys that share these bits with the last one have its prefix.
  size_t known_bits = cut.count > 0 ? kNone : cut.bits;
  HashList hashes = HashList(row->hash_size);
  uint64_t last = 0;

  // Whether the prefix can be another one than the last.
  bool Add(std::string_view key, unsigned shared_bits) {
    if (shared_bits >= known_bits) return cut.count > 0;
    char bytes[kMaxCutBytes];
    const bool is_quick = HasHashOfBits(cut, key);
    const std::string_view prefix = is_quick ? key : PrefixOf(cut, key, bytes);
    if (cut.count > 0) known_bits = prefix.empty() ? kNone : 8 * prefix.size();
    if (prefix.empty()) return true;
    const uint64_t hash =
        is_quick ? Hash64OfBits(key.data(), cut.bits) : Hash64(prefix);
    if (hashes.size() == 0 || hash != last) hashes.Add(hash);
    last = hash;
    return true;
  }
};

}  // namespace

PrefixesPlan PlanPrefixes(const KeyStore& keys, uint64_t bytes,
                          const std::vector<EmptyRange>& sample,
                          const std::vector<Cut>& fixed,
                          const std::vector<Cut>& learned) {
  const size_t header =
      kHeaderSize + BeginningOfFirst(keys).size() +
      std::min(keys.Last().size(), kMaxCutBytes + kBytesAfterCut);
  if (bytes < header) return {};
  std::vector<EmptyRange> ranges, of_learned;
  std::vector<Cut> candidates = fixed;
  if (fixed.empty()) {
    ranges = sample.empty() ? MakeUpRanges(keys, learned, &of_learned) : sample;
    if (!sample.empty()) AddShorterPrefixes(&ranges);
    candidates = CutsFor(ranges, keys.LeastSize(), keys.OneWidth());
  }
  for (size_t i = 0; i < learned.size() && !of_learned.empty(); ++i) {
    const auto same = [cut = TextOf(learned[i])](const Cut& other) {
      return TextOf(other) == cut;
    };
    if (std::none_of(candidates.begin(), candidates.end(), same)) {
      candidates.insert(candidates.begin(), learned[i]);
    }
  }
  ranges.insert(ranges.end(), of_learned.begin(), of_learned.end());
  const bool by_sample = fixed.empty() && !sample.empty();
  const std::vector<PlannedCut> cuts = CountPrefixes(keys, candidates);
  Asked asked;
  std::vector<uint8_t> row(cuts.size());
  for (size_t i = 0; i < cuts.size() && !fixed.empty(); ++i) {
    // As if each had ranges of its own.
    row[i] = 1;
    asked[row] = 1;
    row[i] = 0;
  }
  for (const EmptyRange& range : ranges) {
    for (size_t i = 0; i < cuts.size(); ++i) {
      row[i] = PrefixesThatReject(cuts[i].cut, range, keys.LeastSize());
    }
    asked[row] += range.weight;
    if (!by_sample) continue;
    // A deeper cut rejects what a shallower one does, if it applies: where the
    // sample shows no difference, the deepest rejects one range more.
    size_t deepest = 0;
    std::vector<size_t> depths(cuts.size());
    for (size_t i = 0; i < cuts.size(); ++i) {
      char prefix[kMaxCutBytes];
      if (row[i] > 0) {
        depths[i] = PrefixOf(cuts[i].cut, range.lower, prefix).size();
      }
      deepest = std::max(deepest, depths[i]);
    }
    for (size_t i = 0; i < cuts.size(); ++i) {
      if (depths[i] < deepest || row[i] > 1) row[i] = 0;
    }
    if (std::count(row.begin(), row.end(), 1) > 0) {
      asked[row] += range.weight / static_cast<double>(ranges.size());
    }
  }
  const auto n = static_cast<double>(keys.size());
  const double most_prefixes =
      !fixed.empty()
          ? HUGE_VAL
          : n * (sample.empty() ? kPrefixesPerKeyFromKeys : kPrefixesPerKey);
  const auto buy = [&](size_t first, size_t last) {
    return Buy(n, static_cast<double>(bytes - header), most_prefixes, asked,
               cuts, first, last);
  };
  PrefixesPlan plan = buy(0, cuts.size());
  // Greedy buying keeps what it bought first, so one cut alone can be better.
  for (size_t i = 0; i < cuts.size() && by_sample; ++i) {
    PrefixesPlan alone = buy(i, i + 1);
    if (alone.passing < plan.passing) plan = std::move(alone);
  }
  plan.cuts.erase(
      std::remove_if(plan.cuts.begin(), plan.cuts.end(),
                     [](const PlannedCut& cut) { return cut.bits == 0; }),
      plan.cuts.end());
  std::stable_sort(plan.cuts.begin(), plan.cuts.end(),
                   [](const PlannedCut& a, const PlannedCut& b) {
                     return a.rejects > b.rejects;
                   });
  return plan;
}

void AppendPrefixes(const KeyStore& keys, const std::vector<PlannedCut>& cuts,
                    bool learned, std::string* dst) {
  std::vector<CutHashes> hashes;
  size_t deepest = 0;
  for (const PlannedCut& planned : cuts) {
    const Cut& cut = planned.cut;
    hashes.push_back({cut, FindLayout(planned.layout)});
    deepest = std::max(
        deepest, cut.count == 0 ? (cut.bits + 7u) / 8 : kBytesOfDelimited);
  }
  // Those whose prefix changes most often first.
  std::vector<CutHashes*> deepest_first;
  for (CutHashes& cut : hashes) deepest_first.push_back(&cut);
  std::sort(deepest_first.begin(), deepest_first.end(),
            [](const CutHashes* a, const CutHashes* b) {
              return a->known_bits > b->known_bits;
            });
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    for (CutHashes* cut : deepest_first) {
      // Shallower ones have not changed either.
      if (!cut->Add(cursor.key(), cursor.shared_bits())) break;
    }
  }
  dst->push_back(static_cast<char>(std::min<size_t>(keys.LeastSize(), 255)));
  const std::string_view first = BeginningOfFirst(keys);
  dst->push_back(static_cast<char>(first.size()));
  dst->append(first);
  const size_t last_size =
      std::min(keys.Last().size(), deepest + kBytesAfterCut);
  dst->push_back(static_cast<char>(last_size));
  dst->append(keys.Last(), 0, last_size);
  dst->push_back(static_cast<char>(cuts.size() | (learned ? kLearned : 0)));
  const size_t table = dst->size();
  dst->resize(table + kCutSize * cuts.size());
  for (size_t i = 0; i < cuts.size(); ++i) {
    const size_t filter = dst->size();
    AppendRawFilter(hashes[i].row, 1000 * cuts[i].bits, &hashes[i].hashes, dst);
    char* const at = &(*dst)[table + kCutSize * i];
    const Cut& cut = cuts[i].cut;
    StoreFixed32(
        at, cut.count | uint32_t{cut.byte} << 8 | uint32_t{cut.bits} << 16);
    StoreFixed32(at + 4, static_cast<uint32_t>(dst->size() - filter));
  }
}

}  // namespace deltabloom::internal::range
