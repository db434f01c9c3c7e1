// Writing prefixes: which cuts, with how many bits per prefix each.
//
// A question that a cut can answer passes its filter of b bits per prefix with
// a probability of about m * 2^-b, m being the prefixes that it asks for, and
// passes the part with the product over the cuts. Bits are bought greedily for
// the cut that lets the fewest questions pass per bit spent; a cut with few
// distinct prefixes is cheap.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kHeaderSize = 3;
constexpr size_t kBytesAfterCut = 8;
constexpr size_t kFrequentCuts = 4;
constexpr unsigned kQuantiles = 6;
constexpr size_t kMaxDelimitedCuts = 6;
constexpr size_t kMaxCutsOfKeys = 10;
constexpr unsigned kMaxBits = 24;   // per prefix
constexpr unsigned kFirstBits = 2;  // of a cut that is chosen
constexpr unsigned kMostBitsAtOnce = 4;
constexpr size_t kCutSize = 8;  // in the table of cuts
// A bit per key must turn away this share of the questions.
constexpr double kLeastGain = 1e-4;
// Filters of fewer prefixes are of layout local, whose rate falls by 0.69 bits
// per bit.
constexpr uint64_t kFewPrefixes = 200;
constexpr double kBloomBits = 0.69;
// In the place of bits: keys are not kept as far as the cut.
constexpr unsigned kUnusable = ~0u;

// Groups of keys part at a byte if it makes so many times as many prefixes.
constexpr double kGrowthOfGroups = 1.25;
constexpr double kNearlyAll = 0.9;
constexpr unsigned kBitsBetweenKeys = 3;
constexpr size_t kSampledKeys = 256;
constexpr unsigned kMaxDelimiterCount = 6;
constexpr size_t kMaxDelimiters = 2;

struct Candidate {
  Cut cut;
  uint64_t prefixes = 0;
  unsigned bits = 0;  // per prefix
};

// The prefixes of keys that come in order, each once.
class PrefixesOfKeys {
 public:
  PrefixesOfKeys(const KeyStore& keys, const Cut& cut)
      : cursor_(keys), cut_(cut), size_((cut.bits + 7) / 8) {}

  bool Next() {
    while (cursor_.Next()) {
      if (cut_.count == 0 ? NextBits() : NextDelimited()) return true;
    }
    return false;
  }
  std::string_view prefix() const { return {bytes_, size_}; }

 private:
  bool NextBits() {
    if (!first_ && 8 * cursor_.shared() >= cut_.bits) return false;
    char bytes[kMaxCutBytes];
    CopyPrefixBits(cursor_.key(), cut_.bits, bytes);
    if (!first_ && std::memcmp(bytes, bytes_, size_) == 0) return false;
    first_ = false;
    std::memcpy(bytes_, bytes, size_);
    return true;
  }

  bool NextDelimited() {
    if (size_ > 0 && cursor_.shared() >= size_) return false;
    size_ = 0;
    const std::string_view key = cursor_.key().substr(0, kMaxCutBytes);
    size_t at = 0;
    for (unsigned found = 0; found < cut_.count; ++found) {
      at = key.find(static_cast<char>(cut_.byte), at);
      if (at == std::string_view::npos) return false;
      ++at;
    }
    size_ = at;
    key.copy(bytes_, size_);
    return true;
  }

  KeyStore::Cursor cursor_;
  const Cut& cut_;
  size_t size_;
  bool first_ = true;
  char bytes_[kMaxCutBytes];
};

// Bits of keys that are kept of every key.
unsigned KeptBits(const KeyStore& keys) {
  return static_cast<unsigned>(8 * std::min(keys.KeptOfEach(), kMaxCutBytes));
}

Cut BitsCut(unsigned bits) {
  Cut cut;
  cut.bits = static_cast<uint16_t>(bits);
  return cut;
}

// --- Candidates ------------------------------------------------------------

// The prefixes that the range asks for at the cut; 0 if the cut cannot say that
// it is empty.
unsigned PrefixesThatReject(const Cut& cut, const EmptyRange& empty,
                            size_t least_size) {
  const KeyRange range(empty.question->lower, empty.question->upper);
  PrefixesOfRange asked(cut, range, least_size);
  if (!asked.known()) return 0;
  const auto count = static_cast<unsigned>(asked.left());
  if (count == 0) return 1;
  for (const std::string* key : {&empty.before, &empty.after}) {
    const std::string next = *key + '\0';
    const KeyRange just_key(*key, next);
    PrefixesOfRange of_key(cut, just_key, 0);
    if (!of_key.known() || of_key.left() == 0) continue;
    PrefixesOfRange of_range(cut, range, least_size);
    for (; of_range.left() > 0; of_range.Next()) {
      if (of_range.prefix() == of_key.prefix()) return 0;
    }
  }
  return count;
}

// Values with how often each was found.
using Frequencies = std::map<unsigned, unsigned>;

// The values that make up a twentieth or more, the most frequent first, no more
// than `most`.
std::vector<unsigned> Frequent(const Frequencies& frequencies, size_t most) {
  unsigned sum = 0;
  std::vector<std::pair<unsigned, unsigned>> sorted;
  for (const auto& [value, frequency] : frequencies) {
    sum += frequency;
    sorted.emplace_back(frequency, value);
  }
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<unsigned> values;
  for (const auto& [frequency, value] : sorted) {
    if (values.size() == most || frequency * 20 < sum) break;
    values.push_back(value);
  }
  return values;
}

// `n` values that cut the distribution into equal parts.
std::vector<unsigned> Quantiles(const Frequencies& frequencies, unsigned n) {
  unsigned sum = 0;
  for (const auto& [value, frequency] : frequencies) sum += frequency;
  std::vector<unsigned> values;
  unsigned up_to = 0;
  for (const auto& [value, frequency] : frequencies) {
    const unsigned before = up_to * n / std::max(sum, 1u);
    up_to += frequency;
    if (up_to * n / sum > before) values.push_back(value);
  }
  return values;
}

// Of each empty range the shallowest cut that rejects it, the deepest that can
// be asked, and the last byte that all its keys have in common as a delimiter.
std::vector<Cut> CutsForQuestions(const KeyStore& keys,
                                  const std::vector<EmptyRange>& ranges) {
  Frequencies shallowest, deepest_ones, delimiters;
  const unsigned kept = KeptBits(keys);
  for (const EmptyRange& empty : ranges) {
    const KeyRange range(empty.question->lower, empty.question->upper);
    const auto rejects = [&](unsigned cut_bits) {
      const Cut cut = BitsCut(cut_bits);
      return PrefixesThatReject(cut, empty, keys.LeastSize()) > 0;
    };
    const auto known = [&](unsigned cut_bits) {
      const Cut cut = BitsCut(cut_bits);
      return PrefixesOfRange(cut, range, keys.LeastSize()).known();
    };
    unsigned deepest = std::min<unsigned>(
        kept, static_cast<unsigned>(8 * std::min(range.common, kMaxCutBytes)));
    while (deepest < kept && known(deepest + 1)) ++deepest;
    if (deepest > 0 && rejects(deepest)) {
      unsigned no = 0, yes = deepest;
      while (yes - no > 1) {
        const unsigned middle = no + (yes - no) / 2;
        (rejects(middle) ? yes : no) = middle;
      }
      ++shallowest[yes];
      ++deepest_ones[deepest];
    }
    if (range.common > 0 && range.common <= kMaxCutBytes) {
      const char byte = range.lower[range.common - 1];
      const auto count = std::count(
          range.lower.begin(),
          range.lower.begin() + static_cast<std::ptrdiff_t>(range.common),
          byte);
      if (count < 256) {
        ++delimiters[static_cast<unsigned>(count) << 8 |
                     static_cast<unsigned char>(byte)];
      }
    }
  }
  std::set<unsigned> bits;
  for (const Frequencies* found : {&shallowest, &deepest_ones}) {
    for (const unsigned value : Frequent(*found, kFrequentCuts)) {
      bits.insert(value);
    }
    for (const unsigned value : Quantiles(*found, kQuantiles)) {
      bits.insert(value);
    }
  }
  std::vector<Cut> cuts;
  for (const unsigned value : bits) cuts.push_back(BitsCut(value));
  for (const unsigned value : Frequent(delimiters, kMaxDelimitedCuts)) {
    cuts.emplace_back();
    cuts.back().count = static_cast<uint8_t>(value >> 8);
    cuts.back().byte = static_cast<uint8_t>(value);
  }
  return cuts;
}

// Bytes that are no letters or digits and occur in nearly every key.
std::vector<Cut> Delimiters(const KeyStore& keys) {
  std::array<unsigned, 256> keys_with = {};
  std::array<std::array<unsigned, kMaxDelimiterCount + 1>, 256> counts = {};
  unsigned sampled = 0;
  const uint64_t step = std::max<uint64_t>(1, keys.size() / kSampledKeys);
  KeyStore::Cursor cursor(keys);
  for (uint64_t i = 0; cursor.Next(); ++i) {
    if (i % step != 0) continue;
    ++sampled;
    std::array<unsigned, 256> here = {};
    for (const char c : cursor.key().substr(0, kMaxCutBytes)) {
      const auto byte = static_cast<unsigned char>(c);
      if (++here[byte] == 1) ++keys_with[byte];
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      ++counts[byte][std::min(here[byte], kMaxDelimiterCount)];
    }
  }
  std::vector<Cut> cuts;
  size_t delimiters = 0;
  for (unsigned byte = 0; byte < 128 && delimiters < kMaxDelimiters; ++byte) {
    const bool alphanumeric = (byte >= '0' && byte <= '9') ||
                              (byte >= 'A' && byte <= 'Z') ||
                              (byte >= 'a' && byte <= 'z');
    if (alphanumeric || keys_with[byte] * 10 < sampled * 9) continue;
    ++delimiters;
    unsigned with = keys_with[byte];
    for (unsigned count = 1; count <= kMaxDelimiterCount; ++count) {
      if (with * 10 < sampled) break;
      Cut cut;
      cut.count = static_cast<uint8_t>(count);
      cut.byte = static_cast<uint8_t>(byte);
      cuts.push_back(cut);
      with -= counts[byte][count];
    }
  }
  return cuts;
}

// Where groups of keys part, two cuts that distinguish nearly all keys, and
// delimiters.
std::vector<Cut> CutsForKeys(const KeyStore& keys) {
  std::vector<Cut> cuts;
  const unsigned kept = KeptBits(keys);
  const auto nearly_all =
      static_cast<uint64_t>(kNearlyAll * static_cast<double>(keys.size()));
  // Prefixes of one byte less, and whether that byte made groups part.
  uint64_t prefixes = 1;
  bool parted = false;
  unsigned bits = 8;
  for (; bits <= kept && prefixes <= nearly_all; bits += 8) {
    const uint64_t more = keys.DistinctPrefixes(bits);
    const bool parts = static_cast<double>(more) >
                       kGrowthOfGroups * static_cast<double>(prefixes);
    if (parts != parted && prefixes > 1) cuts.push_back(BitsCut(bits - 8));
    prefixes = more;
    parted = parts;
  }
  // For ranges a little shorter than the distances of keys, and for very short
  // ones.
  unsigned distinct = bits < 16 ? 0 : bits - 16;
  while (distinct < kept && keys.DistinctPrefixes(distinct) <= nearly_all) {
    ++distinct;
  }
  cuts.push_back(BitsCut(std::min(distinct + kBitsBetweenKeys, kept)));
  if (bits > distinct + kBitsBetweenKeys) {
    cuts.push_back(BitsCut(std::min(bits, kept)));
  }
  if (cuts.size() > kMaxCutsOfKeys) {
    cuts.erase(cuts.begin(), cuts.end() - kMaxCutsOfKeys);
  }
  // In keys of one size a delimiter is at one place, or is none.
  if (keys.OneWidth()) return cuts;
  const std::vector<Cut> delimiters = Delimiters(keys);
  cuts.insert(cuts.end(), delimiters.begin(), delimiters.end());
  return cuts;
}

// Counts the distinct prefixes of delimited cuts in one pass over the keys.
class DelimiterCounter {
 public:
  DelimiterCounter(const KeyStore& keys, std::vector<Candidate>* candidates)
      : keys_(keys) {
    for (Candidate& candidate : *candidates) {
      if (candidate.cut.count == 0) continue;
      const auto same = [&](const Delimiter& delimiter) {
        return delimiter.byte == static_cast<char>(candidate.cut.byte);
      };
      auto at = std::find_if(delimiters_.begin(), delimiters_.end(), same);
      if (at == delimiters_.end()) {
        delimiters_.emplace_back();
        at = delimiters_.end() - 1;
        at->byte = static_cast<char>(candidate.cut.byte);
      }
      at->of_count[candidate.cut.count] = &candidate;
    }
  }

  void Count() {
    if (delimiters_.empty()) return;
    KeyStore::Cursor cursor(keys_);
    while (cursor.Next()) {
      const std::string_view key = cursor.key().substr(0, kMaxCutBytes);
      // What follows is not known.
      const bool cut_off =
          key.size() < kMaxCutBytes && key.size() >= keys_.KeptOfEach();
      for (Delimiter& delimiter : delimiters_) {
        delimiter.Count(key, std::min(cursor.shared(), kMaxCutBytes), cut_off);
      }
    }
  }

 private:
  struct Delimiter {
    char byte = 0;
    std::array<Candidate*, 256> of_count = {};
    std::array<uint8_t, kMaxCutBytes + 1> up_to = {};  // this many bytes

    void Count(std::string_view key, size_t shared, bool cut_off) {
      unsigned count = up_to[shared];
      for (size_t i = shared; i < key.size(); ++i) {
        if (key[i] == byte) {
          ++count;
          if (of_count[count] != nullptr) ++of_count[count]->prefixes;
        }
        up_to[i + 1] = static_cast<uint8_t>(count);
      }
      if (!cut_off) return;
      for (++count; count < of_count.size(); ++count) {
        if (of_count[count] != nullptr) of_count[count]->bits = kUnusable;
      }
    }
  };

  const KeyStore& keys_;
  std::vector<Delimiter> delimiters_;
};

std::vector<Candidate> CountedCandidates(const KeyStore& keys,
                                         const std::vector<Cut>& cuts) {
  std::vector<Candidate> all;
  for (const Cut& cut : cuts) {
    all.push_back({cut, cut.count == 0 ? keys.DistinctPrefixes(cut.bits) : 0});
  }
  DelimiterCounter(keys, &all).Count();
  std::vector<Candidate> candidates;
  for (const Candidate& candidate : all) {
    // A delimiter that opens as many groups as the one before adds nothing.
    const bool same = candidate.cut.count > 1 && !candidates.empty() &&
                      candidates.back().cut.byte == candidate.cut.byte &&
                      candidates.back().cut.count + 1 == candidate.cut.count &&
                      candidates.back().prefixes == candidate.prefixes;
    if (candidate.bits != kUnusable && candidate.prefixes > 1 && !same) {
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

// --- Bits ------------------------------------------------------------------

// For each question the prefixes it asks for at each candidate, 0 where that
// candidate cannot reject it.
using Asked = std::vector<std::vector<float>>;

class Buyer {
 public:
  Buyer(std::vector<Candidate>* candidates, const Asked& asked, uint64_t keys,
        uint64_t bytes)
      : candidates_(*candidates),
        asked_(asked),
        keys_(static_cast<double>(keys)),
        budget_(8 * static_cast<double>(bytes)),
        passing_(asked.size(), 1) {
    const LayoutRow* row = FindLayout(Layout::kCompact, Hash::kMurmurHash2);
    for (const Candidate& candidate : candidates_) {
      costs_.emplace_back();
      for (unsigned bits = 1; bits <= kMaxBits; ++bits) {
        const Plan plan = PlanFilter(row, candidate.prefixes, 1000 * bits);
        costs_.back()[bits] =
            8 * static_cast<double>(plan.payload_size + 1 + kCutSize);
      }
    }
  }

  void Buy() {
    while (BuyOnce()) {
    }
  }
  double Passing() const {
    double sum = 0;
    for (const double passing : passing_) sum += passing;
    return asked_.empty() ? 1 : sum / static_cast<double>(asked_.size());
  }

 private:
  static double Rate(const Candidate& candidate, unsigned bits) {
    const double used =
        bits * (candidate.prefixes < kFewPrefixes ? kBloomBits : 1);
    return std::exp2(-used);
  }
  // The factor by which questions pass less often with more bits.
  static double Factor(double asked, double rate, double more_rate) {
    if (asked == 0) return 1;
    return std::min(1.0, asked * more_rate) / std::min(1.0, asked * rate);
  }

  bool BuyOnce() {
    const size_t chosen = static_cast<size_t>(
        std::count_if(candidates_.begin(), candidates_.end(),
                      [](const Candidate& c) { return c.bits > 0; }));
    size_t best = candidates_.size();
    unsigned best_bits = 0;
    double best_gain = kLeastGain * static_cast<double>(asked_.size()) / keys_;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& candidate = candidates_[i];
      if (candidate.bits == 0 && chosen == kMaxCuts) continue;
      const unsigned least = candidate.bits == 0 ? kFirstBits : 1;
      for (unsigned more = least; more <= kMostBitsAtOnce; more += least) {
        const unsigned bits = candidate.bits + more;
        if (bits > kMaxBits) break;
        const double cost = costs_[i][bits] - costs_[i][candidate.bits];
        if (spent_ + cost > budget_) break;
        const double gain = Gain(i, bits) / std::max(cost, 1.0);
        if (gain > best_gain) {
          best = i;
          best_bits = bits;
          best_gain = gain;
        }
      }
    }
    if (best == candidates_.size()) return false;
    Take(best, best_bits);
    return true;
  }

  double Gain(size_t i, unsigned bits) const {
    const double rate = Rate(candidates_[i], candidates_[i].bits);
    const double more_rate = Rate(candidates_[i], bits);
    double gain = 0;
    for (size_t q = 0; q < asked_.size(); ++q) {
      if (asked_[q][i] == 0) continue;
      gain += passing_[q] * (1 - Factor(asked_[q][i], rate, more_rate));
    }
    return gain;
  }

  void Take(size_t i, unsigned bits) {
    Candidate& candidate = candidates_[i];
    const double rate = Rate(candidate, candidate.bits);
    const double more_rate = Rate(candidate, bits);
    for (size_t q = 0; q < asked_.size(); ++q) {
      passing_[q] *= Factor(asked_[q][i], rate, more_rate);
    }
    spent_ += costs_[i][bits] - costs_[i][candidate.bits];
    candidate.bits = bits;
  }

  std::vector<Candidate>& candidates_;
  const Asked& asked_;
  const double keys_;
  const double budget_;
  double spent_ = 0;
  std::vector<double> passing_;
  std::vector<std::array<double, kMaxBits + 1>> costs_;  // in bits
};

std::vector<Candidate> Choose(const KeyStore& keys, uint64_t bytes,
                              const std::vector<EmptyRange>& ranges,
                              double* passing) {
  std::vector<Candidate> candidates;
  Asked asked;
  if (ranges.empty()) {
    // As if each cut had questions of its own.
    candidates = CountedCandidates(keys, CutsForKeys(keys));
    asked.assign(candidates.size(), std::vector<float>(candidates.size()));
    for (size_t i = 0; i < candidates.size(); ++i) asked[i][i] = 1;
  } else {
    candidates = CountedCandidates(keys, CutsForQuestions(keys, ranges));
    for (const EmptyRange& empty : ranges) {
      asked.emplace_back();
      for (const Candidate& candidate : candidates) {
        asked.back().push_back(static_cast<float>(
            PrefixesThatReject(candidate.cut, empty, keys.LeastSize())));
      }
    }
  }
  Buyer buyer(&candidates, asked, keys.size(), bytes);
  buyer.Buy();
  *passing = ranges.empty() ? 1 : buyer.Passing();
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(),
                     [](const Candidate& c) { return c.bits == 0; }),
      candidates.end());
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.bits > b.bits; });
  return candidates;
}

// --- Bytes -----------------------------------------------------------------

// Appends the filter of a cut: payload and last byte.
void AppendFilter(const KeyStore& keys, const Candidate& candidate,
                  const SipHashKey* seed, std::string* dst) {
  const LayoutRow* row = FindLayout(Layout::kCompact, Hash::kMurmurHash2);
  HashList hashes(row->hash_size);
  PrefixesOfKeys prefixes(keys, candidate.cut);
  while (prefixes.Next()) {
    if (seed == nullptr) {
      hashes.Add(row->hash(prefixes.prefix()));
    } else {
      char hashed[8];
      StoreFixed64(hashed, SipHash(*seed, prefixes.prefix()));
      hashes.Add(row->hash({hashed, sizeof(hashed)}));
    }
  }
  const size_t start = dst->size();
  for (; row != nullptr; row = row->fallback) {
    const Plan plan = PlanFilter(row, hashes.size(), 1000 * candidate.bits);
    dst->resize(start);
    dst->resize(start + plan.payload_size + 1, '\0');
    row = plan.layout;
    if (row->build(&hashes, /*keep_hashes=*/false, plan, ActiveCpu(),
                   reinterpret_cast<unsigned char*>(&(*dst)[start]))) {
      dst->back() = static_cast<char>(plan.last_byte);
      return;
    }
  }
}

// Bytes of the last key that are stored, so that bounds up to there can be told
// from it.
size_t LastSize(const KeyStore& keys, const std::vector<Candidate>& cuts) {
  size_t deepest = 0;
  for (const Candidate& cut : cuts) {
    const size_t bytes =
        cut.cut.count == 0 ? (cut.cut.bits + 7u) / 8 : KeyStore::kFirstBytes;
    deepest = std::max(deepest, bytes);
  }
  return std::min(keys.Last().size(), deepest + kBytesAfterCut);
}

}  // namespace

std::vector<EmptyRange> EmptyRanges(const KeyStore& keys,
                                    const std::vector<Question>& questions) {
  std::vector<const Question*> sorted;
  for (const Question& question : questions) {
    if (question.lower < question.upper) sorted.push_back(&question);
  }
  std::sort(
      sorted.begin(), sorted.end(), [](const Question* a, const Question* b) {
        return std::tie(a->lower, a->upper) < std::tie(b->lower, b->upper);
      });
  std::vector<EmptyRange> empty;
  KeyStore::Cursor cursor(keys);
  std::string before;
  size_t next = 0;
  bool first = true;
  while (next < sorted.size() && cursor.Next()) {
    const std::string_view key = cursor.key();
    for (; next < sorted.size() && sorted[next]->lower <= key; ++next) {
      // What lies beyond the keys of this filter is not its concern.
      if (!first && sorted[next]->upper <= key) {
        empty.push_back({sorted[next], before, std::string(key)});
      }
    }
    before = key;
    first = false;
  }
  return empty;
}

bool AppendPrefixes(const KeyStore& keys, uint64_t bytes,
                    const std::vector<EmptyRange>& ranges,
                    const SipHashKey* seed, std::string* dst, double* passing) {
  const size_t most_of_last =
      std::min(keys.Last().size(), kMaxCutBytes + kBytesAfterCut);
  if (bytes < kHeaderSize + most_of_last) return false;
  const std::vector<Candidate> cuts =
      Choose(keys, bytes - kHeaderSize - most_of_last, ranges, passing);
  if (cuts.empty()) return false;
  const size_t start = dst->size();
  dst->push_back(static_cast<char>(std::min<size_t>(keys.LeastSize(), 255)));
  const size_t last_size = LastSize(keys, cuts);
  dst->push_back(static_cast<char>(last_size));
  dst->append(keys.Last(), 0, last_size);
  dst->push_back(static_cast<char>(cuts.size()));
  const size_t table = dst->size();
  dst->resize(table + kCutSize * cuts.size());
  for (size_t i = 0; i < cuts.size(); ++i) {
    const size_t filter = dst->size();
    AppendFilter(keys, cuts[i], seed, dst);
    char* const at = &(*dst)[table + kCutSize * i];
    at[0] = static_cast<char>(cuts[i].cut.count);
    at[1] = static_cast<char>(cuts[i].cut.byte);
    at[2] = static_cast<char>(cuts[i].cut.bits);
    at[3] = static_cast<char>(cuts[i].cut.bits >> 8);
    StoreFixed32(at + 4, static_cast<uint32_t>(dst->size() - filter));
  }
  if (dst->size() - start <= bytes) return true;
  dst->resize(start);
  return false;
}

}  // namespace deltabloom::internal::range
