// The cuts that are considered.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/range.h"

namespace deltabloom::internal::range {
namespace {

// Cuts begin at the beginning of a key, or after one of this many delimiters.
constexpr size_t kMaxDelimiters = 4;
constexpr unsigned kMaxDelimiterCount = 16;
// One prefix that all keys have rejects what the first and last key do.
constexpr uint64_t kLeastPrefixes = 2;

// The bits with which both begin, padded with zeros.
size_t SharedBits(std::string_view a, std::string_view b) {
  size_t bytes = CommonPrefix(a, b);
  const auto byte = [&bytes](std::string_view text) {
    return bytes < text.size() ? ByteAt(text, bytes) : 0u;
  };
  for (; bytes < std::max(a.size(), b.size()); ++bytes) {
    const unsigned difference = byte(a) ^ byte(b);
    if (difference == 0) continue;
    return 8 * bytes + static_cast<size_t>(__builtin_clz(difference)) - 24;
  }
  return kMaxCutBits;
}

// How many prefixes the sample asks for at the cut; 0 as in Candidate.
uint8_t PrefixesThatReject(const Cut& cut, const Sample& sample,
                           const RangeView& range, size_t least_size) {
  PrefixesOfRange asked(cut, range, least_size);
  if (!asked.known()) return 0;
  const auto count = static_cast<uint8_t>(asked.left());
  char bytes[2][kMaxCutBytes];
  const std::string_view before = PrefixOf(cut, sample.before, bytes[0]);
  const std::string_view after = PrefixOf(cut, sample.after, bytes[1]);
  for (; asked.left() > 0; asked.Next()) {
    if (asked.prefix() == before || asked.prefix() == after) return 0;
  }
  return std::max<uint8_t>(count, 1);
}

// The depths of cuts that could reject a sample, in bits from the beginning of
// a key: one prefix from `first` to `common`, which all its keys share, then
// several.
struct Reach {
  Reach(const Sample& sample, size_t least_size) {
    const RangeView range(sample.lower, sample.upper);
    common = 8 * std::min(range.common, kMaxCutBytes);
    first = 1 + std::max(SharedBits(sample.before, sample.lower),
                         SharedBits(sample.after, sample.lower));
    if (range.lower.size() <= range.common) return;
    for (size_t depth = common + 1; depth <= kMaxCutBits; ++depth) {
      const Cut cut{0, 0, static_cast<uint16_t>(depth)};
      if (!PrefixesOfRange(cut, range, least_size).known()) break;
      several.push_back(PrefixesThatReject(cut, sample, range, least_size));
    }
  }

  size_t last() const { return common + several.size(); }
  bool CanBeRejected() const {
    return first <= common || (!several.empty() && several.back() > 0);
  }
  uint8_t AsksAt(size_t depth) const {
    if (depth <= common) return depth >= first ? 1 : 0;
    return depth <= last() ? several[depth - common - 1] : 0;
  }

  size_t first, common;
  std::vector<uint8_t> several;
};

// Where the bits of a cut begin: after the count-th byte, or, if count is 0, at
// the beginning of the key.
using Beginning = std::pair<uint8_t, uint8_t>;  // count, byte

bool IsAlphanumeric(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z');
}

// Delimiters that all keys of a sample share, those of most samples first;
// without those that are at the same place in all of them.
std::vector<Beginning> FindBeginnings(const std::vector<Sample>& samples,
                                      const std::vector<Reach>& reaches) {
  struct Use {
    double weight = 0;
    size_t place = 0;
    bool varies = false;
  };
  std::map<Beginning, Use> uses;
  double all = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!reaches[i].CanBeRejected()) continue;
    all += samples[i].weight;
    std::array<uint8_t, 256> counts = {};
    for (size_t at = 0; at < reaches[i].common / 8; ++at) {
      const char byte = samples[i].lower[at];
      uint8_t& count = counts[static_cast<unsigned char>(byte)];
      if (IsAlphanumeric(byte) || count == kMaxDelimiterCount) continue;
      if (at == 0 || !IsAlphanumeric(samples[i].lower[at - 1])) {
        ++count;
        continue;
      }
      Use& use = uses[{++count, static_cast<uint8_t>(byte)}];
      use.varies = use.varies || (use.weight > 0 && use.place != at);
      use.place = at;
      use.weight += samples[i].weight;
    }
  }
  std::vector<std::pair<double, Beginning>> by_weight;
  for (const auto& [beginning, use] : uses) {
    if (use.varies && 8 * use.weight >= all)
      by_weight.emplace_back(-use.weight, beginning);
  }
  std::sort(by_weight.begin(), by_weight.end());
  std::vector<Beginning> beginnings{{0, 0}};
  for (const auto& [weight, beginning] : by_weight) {
    if (beginnings.size() > kMaxDelimiters) break;
    beginnings.push_back(beginning);
  }
  return beginnings;
}

// At [b] how many distinct prefixes the keys have with b bits from a beginning
// on; beyond the end as many as at the end.
using PrefixCounts = std::vector<uint64_t>;

PrefixCounts CountFromFirstBit(const KeyStore& keys) {
  PrefixCounts counts{1};
  for (const uint64_t count : keys.SharedBits()) {
    counts.push_back(counts.back() + count);
  }
  return counts;
}

// Counts keys, which must come in order, by where they part from the key before
// behind a delimiter.
class DelimiterCounter {
 public:
  explicit DelimiterCounter(Beginning delimiter)
      : cut_{delimiter.first, delimiter.second, 0}, counts_(1) {}

  void Add(const KeyStore::Cursor& at) {
    const bool same_beginning = begin_ <= at.shared();
    if (!same_beginning) begin_ = BeginOf(cut_, at.key());
    if (begin_ == std::string_view::npos) return;
    const size_t shared =
        same_beginning ? at.shared_bits() - 8 * begin_ + 1 : 0;
    if (counts_.size() <= shared) counts_.resize(shared + 1);
    ++counts_[shared];
  }

  PrefixCounts Get() const {
    PrefixCounts counts(counts_.size());
    std::partial_sum(counts_.begin(), counts_.end(), counts.begin());
    return counts;
  }

 private:
  const Cut cut_;
  size_t begin_ = std::string_view::npos;  // in the key before
  // At [b] the keys that share so many bits from the beginning on with the key
  // before; at [0] those that do not share the beginning.
  std::vector<uint64_t> counts_;
};

// The counts from each of these beginnings.
std::vector<PrefixCounts> CountPrefixes(
    const KeyStore& keys, const std::vector<Beginning>& beginnings) {
  std::vector<DelimiterCounter> counters;
  for (const Beginning& beginning : beginnings) {
    if (beginning.first > 0) counters.emplace_back(beginning);
  }
  if (!counters.empty()) {
    for (KeyStore::Cursor cursor(keys); cursor.Next();) {
      for (DelimiterCounter& counter : counters) counter.Add(cursor);
    }
  }
  std::vector<PrefixCounts> all;
  auto counter = counters.begin();
  for (const Beginning& beginning : beginnings) {
    all.push_back(beginning.first == 0 ? CountFromFirstBit(keys)
                                       : (counter++)->Get());
  }
  return all;
}

uint64_t CountAt(const PrefixCounts& counts, size_t bits) {
  return counts[std::min(bits, counts.size() - 1)];
}

// Appends the cuts from this beginning on that can reject some of the samples.
void AddCandidates(Beginning beginning, const PrefixCounts& counts,
                   const std::vector<Sample>& samples,
                   const std::vector<Reach>& reaches,
                   std::vector<Candidate>* candidates) {
  Cut cut{beginning.first, beginning.second, 0};
  // Where the cut begins in each sample, in bits; kNone if not in all of its
  // keys.
  constexpr size_t kNone = ~size_t{0};
  std::vector<size_t> begins;
  // The deepest cuts that apply to a sample, with one prefix and with several.
  std::set<size_t> depths;
  size_t least = kMaxCutBits;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Reach& reach = reaches[i];
    const std::string_view common =
        std::string_view(samples[i].lower).substr(0, reach.common / 8);
    const size_t begin = BeginOf(cut, common);
    const bool is_none =
        begin == std::string_view::npos || !reach.CanBeRejected();
    begins.push_back(is_none ? kNone : 8 * begin);
    if (is_none) continue;
    if (reach.first <= reach.common) depths.insert(reach.common - 8 * begin);
    depths.insert(reach.last() - 8 * begin);
    least = std::min(least, std::max(reach.first, 8 * begin) - 8 * begin);
  }
  if (depths.empty()) return;
  // And the last bytes before the keys have more prefixes.
  const size_t most = *depths.rbegin();
  for (size_t depth = (least + 7) / 8 * 8; depth < most; depth += 8) {
    if (CountAt(counts, depth) < CountAt(counts, depth + 8)) {
      depths.insert(depth);
    }
  }
  for (const size_t depth : depths) {
    const uint64_t prefixes = CountAt(counts, depth);
    if (depth + cut.count == 0 || prefixes < kLeastPrefixes) continue;
    cut.bits = static_cast<uint16_t>(depth);
    Candidate& candidate = candidates->emplace_back();
    candidate.cut = cut;
    candidate.prefixes = prefixes;
    for (size_t i = 0; i < samples.size(); ++i) {
      candidate.asks.push_back(
          begins[i] == kNone ? 0 : reaches[i].AsksAt(begins[i] + depth));
    }
  }
}

}  // namespace

std::vector<Candidate> FindCandidates(const KeyStore& keys,
                                      const std::vector<Sample>& samples) {
  std::vector<Reach> reaches;
  for (const Sample& sample : samples) {
    reaches.emplace_back(sample, keys.LeastSize());
  }
  const std::vector<Beginning> beginnings = FindBeginnings(samples, reaches);
  const std::vector<PrefixCounts> counts = CountPrefixes(keys, beginnings);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < beginnings.size(); ++i) {
    AddCandidates(beginnings[i], counts[i], samples, reaches, &candidates);
  }
  return candidates;
}

std::vector<Candidate> FixedCandidates(const KeyStore& keys,
                                       const std::vector<Cut>& cuts) {
  std::vector<Candidate> candidates;
  std::vector<Beginning> beginnings;
  for (const Cut& cut : cuts) beginnings.emplace_back(cut.count, cut.byte);
  const std::vector<PrefixCounts> counts = CountPrefixes(keys, beginnings);
  for (size_t i = 0; i < cuts.size(); ++i) {
    const uint64_t prefixes = CountAt(counts[i], cuts[i].bits);
    if (prefixes >= kLeastPrefixes) {
      candidates.push_back({cuts[i], prefixes, {}});
    }
  }
  return candidates;
}

}  // namespace deltabloom::internal::range
