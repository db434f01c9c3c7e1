// Writing prefixes: which cuts, with how many bits per prefix each.
//
// A question that a cut can answer passes its filter of b bits per prefix with
// a probability of about m * 2^-b, m being the prefixes that it asks for, and
// passes the part with the product over the cuts. Bits are bought greedily for
// the cut that lets the fewest questions pass per bit spent; a cut with few
// distinct prefixes is cheap.
#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kHeaderSize = 3;
constexpr size_t kBytesAfterCut = 8;
constexpr size_t kQuantiles = 8;
constexpr size_t kMaxCutsOfKeys = 10;
constexpr unsigned kMaxBits = 24;   // per prefix
constexpr unsigned kFirstBits = 2;  // of a cut that is chosen
constexpr unsigned kMostBitsAtOnce = 4;
// A bit per key must turn away this share of the questions.
constexpr double kLeastGain = 1e-4;
// Filters of fewer prefixes are of layout local, whose rate falls by 0.69 bits
// per bit.
constexpr uint64_t kFewPrefixes = 200;
constexpr double kBloomBits = 0.69;

// Groups of keys part at a byte if it makes this many times as many prefixes.
constexpr double kGrowthOfGroups = 1.25;
constexpr double kNearlyAll = 0.9;
constexpr unsigned kBitsBetweenKeys = 3;
constexpr unsigned kMaxDelimiterCount = 16;
constexpr unsigned kMaxDelimiterCountOfKeys = 6;
constexpr size_t kMaxDelimiters = 2;

struct Candidate {
  Cut cut;
  uint64_t prefixes = 0;
  unsigned bits = 0;  // per prefix

  double Rate(unsigned bits_per_prefix) const {
    return std::exp2(-(prefixes < kFewPrefixes ? kBloomBits : 1.0) *
                     bits_per_prefix);
  }
};

// Calls fn(prefix) for the prefixes of the keys, each once.
template <typename Fn>
void ForEachPrefix(const KeyStore& keys, const Cut& cut, Fn fn) {
  char bytes[kMaxCutBytes];
  std::string last;  // empty if the key before has none
  KeyStore::Cursor cursor(keys);
  while (cursor.Next()) {
    const size_t bits = cut.count == 0 ? cut.bits : 8 * last.size();
    if (!last.empty() && 8 * cursor.shared() >= bits) continue;
    const std::string_view prefix = PrefixOf(cut, cursor.key(), bytes);
    if (prefix == last) continue;
    last = prefix;
    if (!prefix.empty()) fn(prefix);
  }
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
  char bytes[2][kMaxCutBytes];
  const std::string_view before = PrefixOf(cut, empty.before, bytes[0]);
  const std::string_view after = PrefixOf(cut, empty.after, bytes[1]);
  for (; asked.left() > 0; asked.Next()) {
    if (asked.prefix() == before || asked.prefix() == after) return 0;
  }
  return std::max(count, 1u);
}

// How many keys have a byte so often, and how many distinct prefixes end there.
struct DelimiterCount {
  uint64_t prefixes = 0;  // 0 if they are not known of all keys
  uint64_t keys = 0;
};
using DelimiterCounts =
    std::vector<std::array<DelimiterCount, kMaxDelimiterCount + 1>>;

// By byte, for those that may be delimiters, and by how often it occurs.
DelimiterCounts CountDelimiters(const KeyStore& keys,
                                const std::bitset<256>& bytes) {
  struct Mark {
    size_t end;
    unsigned char byte;
    uint64_t since;  // the key with which it came
  };
  DelimiterCounts counts(256);
  std::vector<Mark> marks;  // in the last key
  std::array<unsigned, 256> found = {}, most;
  most.fill(kMaxDelimiterCount);
  uint64_t n = 0;
  const auto drop_beyond = [&](size_t end) {
    for (; !marks.empty() && marks.back().end > end; marks.pop_back()) {
      const Mark& mark = marks.back();
      counts[mark.byte][found[mark.byte]--].keys += n - mark.since;
    }
  };
  for (KeyStore::Cursor cursor(keys); cursor.Next(); ++n) {
    drop_beyond(cursor.shared());
    const std::string_view key = cursor.key().substr(0, kMaxCutBytes);
    for (size_t i = cursor.shared(); i < key.size(); ++i) {
      const auto byte = static_cast<unsigned char>(key[i]);
      if (!bytes[byte] || found[byte] == kMaxDelimiterCount) continue;
      marks.push_back({i + 1, byte, n});
      ++counts[byte][++found[byte]].prefixes;
    }
    // What follows is not known.
    if (key.size() < kMaxCutBytes && key.size() >= keys.KeptOfEach()) {
      for (size_t byte = 0; byte < 256; ++byte) {
        if (bytes[byte]) most[byte] = std::min(most[byte], found[byte]);
      }
    }
  }
  drop_beyond(0);
  for (size_t byte = 0; byte < 256; ++byte) {
    for (size_t count = most[byte] + 1; count <= kMaxDelimiterCount; ++count) {
      counts[byte][count].prefixes = 0;
    }
  }
  return counts;
}

class Candidates {
 public:
  explicit Candidates(const KeyStore& keys)
      : keys_(keys),
        kept_(static_cast<unsigned>(
            8 * std::min(keys.KeptOfEach(), kMaxCutBytes))) {}

  // Where groups of keys part, two cuts that distinguish nearly all keys, and
  // delimiters.
  std::vector<Candidate> ForKeys() {
    const auto nearly_all =
        static_cast<uint64_t>(kNearlyAll * static_cast<double>(keys_.size()));
    // Prefixes of one byte less, and whether that byte made groups part.
    uint64_t prefixes = 1;
    bool parted = false;
    unsigned bits = 8;
    std::vector<unsigned> cuts;
    for (; bits <= kept_ && prefixes <= nearly_all; bits += 8) {
      const uint64_t more = keys_.DistinctPrefixes(bits);
      const bool parts = static_cast<double>(more) >
                         kGrowthOfGroups * static_cast<double>(prefixes);
      if (parts != parted && prefixes > 1) cuts.push_back(bits - 8);
      prefixes = more;
      parted = parts;
    }
    // For ranges a little shorter than the distances of keys, and for very
    // short ones.
    unsigned distinct = bits < 16 ? 0 : bits - 16;
    while (distinct < kept_ && keys_.DistinctPrefixes(distinct) <= nearly_all) {
      ++distinct;
    }
    distinct += kBitsBetweenKeys;
    cuts.push_back(std::min(distinct, kept_));
    if (bits > distinct) cuts.push_back(std::min(bits, kept_));
    const size_t left_out = cuts.size() - std::min(cuts.size(), kMaxCutsOfKeys);
    for (size_t i = left_out; i < cuts.size(); ++i) AddBits(cuts[i]);
    // In keys of one size a delimiter is at one place, or is none.
    if (!keys_.OneWidth()) AddDelimiters();
    return std::move(candidates_);
  }

  // Quantiles of the shallowest cuts that reject a range and of the deepest
  // that can be asked, and, as a delimiter, the last byte that all keys of a
  // range have in common, where a twentieth of the ranges share it.
  std::vector<Candidate> ForQuestions(const std::vector<EmptyRange>& ranges) {
    std::vector<unsigned> shallowest, deepest;
    std::map<std::pair<unsigned, unsigned>, size_t> delimiters;
    for (const EmptyRange& empty : ranges) {
      const KeyRange range(empty.question->lower, empty.question->upper);
      const auto rejects = [&](unsigned bits) {
        return PrefixesThatReject(BitsCut(bits), empty, keys_.LeastSize()) > 0;
      };
      auto deep = std::min(
          kept_,
          static_cast<unsigned>(8 * std::min(range.common, kMaxCutBytes)));
      while (deep < kept_) {
        const Cut next = BitsCut(deep + 1);
        if (!PrefixesOfRange(next, range, keys_.LeastSize()).known()) break;
        ++deep;
      }
      if (deep > 0 && rejects(deep)) {
        deepest.push_back(deep);
        unsigned no = 0;
        while (deep - no > 1) {
          const unsigned middle = no + (deep - no) / 2;
          (rejects(middle) ? deep : no) = middle;
        }
        shallowest.push_back(deep);
      }
      if (range.common == 0 || range.common > kMaxCutBytes) continue;
      const std::string_view common = range.lower.substr(0, range.common);
      const auto count = static_cast<unsigned>(
          std::count(common.begin(), common.end(), common.back()));
      if (count > kMaxDelimiterCount) continue;
      ++delimiters[{static_cast<unsigned char>(common.back()), count}];
    }
    std::set<unsigned> bits;
    for (std::vector<unsigned>* values : {&shallowest, &deepest}) {
      std::sort(values->begin(), values->end());
      for (size_t i = 0; i < kQuantiles && !values->empty(); ++i) {
        bits.insert((*values)[(2 * i + 1) * values->size() / (2 * kQuantiles)]);
      }
    }
    for (const unsigned value : bits) AddBits(value);
    std::bitset<256> bytes;
    for (const auto& [delimiter, n] : delimiters) bytes.set(delimiter.first);
    if (bytes.none()) return std::move(candidates_);
    const DelimiterCounts counts = CountDelimiters(keys_, bytes);
    for (const auto& [delimiter, n] : delimiters) {
      if (n * 20 < ranges.size()) continue;
      AddDelimiter(counts, delimiter.first, delimiter.second);
    }
    return std::move(candidates_);
  }

 private:
  static Cut BitsCut(unsigned bits) {
    Cut cut;
    cut.bits = static_cast<uint16_t>(bits);
    return cut;
  }

  void AddBits(unsigned bits) {
    Add(BitsCut(bits), keys_.DistinctPrefixes(bits));
  }

  void AddDelimiter(const DelimiterCounts& counts, unsigned byte,
                    unsigned count) {
    Cut cut;
    cut.count = static_cast<uint8_t>(count);
    cut.byte = static_cast<uint8_t>(byte);
    const uint64_t prefixes = counts[byte][count].prefixes;
    // A delimiter that opens as many groups as the one before adds nothing.
    const bool same = !candidates_.empty() && count > 1 &&
                      candidates_.back().cut.byte == byte &&
                      candidates_.back().cut.count + 1u == count &&
                      candidates_.back().prefixes == prefixes;
    if (!same) Add(cut, prefixes);
  }

  // Bytes that are no letters or digits and occur in nearly every key.
  void AddDelimiters() {
    std::bitset<256> bytes;
    for (unsigned byte = 0; byte < 128; ++byte) {
      bytes[byte] = !(byte >= '0' && byte <= '9') &&
                    !(byte >= 'A' && byte <= 'Z') &&
                    !(byte >= 'a' && byte <= 'z');
    }
    const DelimiterCounts counts = CountDelimiters(keys_, bytes);
    size_t delimiters = 0;
    for (unsigned byte = 0; byte < 128 && delimiters < kMaxDelimiters; ++byte) {
      if (!bytes[byte] || counts[byte][1].keys * 10 < keys_.size() * 9) {
        continue;
      }
      ++delimiters;
      for (unsigned count = 1; count <= kMaxDelimiterCountOfKeys &&
                               counts[byte][count].keys * 10 >= keys_.size();
           ++count) {
        AddDelimiter(counts, byte, count);
      }
    }
  }

  void Add(const Cut& cut, uint64_t prefixes) {
    if (prefixes > 1) candidates_.push_back({cut, prefixes});
  }

  const KeyStore& keys_;
  const unsigned kept_;  // bits of every key
  std::vector<Candidate> candidates_;
};

// --- Bits ------------------------------------------------------------------

// For each question the prefixes it asks for at each candidate, 0 where that
// candidate cannot reject it.
using Asked = std::vector<std::vector<float>>;

// Sets the bits of the candidates, which take no more than `bytes`.
void Buy(const Asked& asked, uint64_t keys, uint64_t bytes,
         std::vector<Candidate>* candidates) {
  const LayoutRow* row = FindLayout(Layout::kCompact, Hash::kMurmurHash2);
  std::vector<std::array<double, kMaxBits + 1>> costs(candidates->size());
  for (size_t i = 0; i < costs.size(); ++i) {
    for (unsigned bits = 1; bits <= kMaxBits; ++bits) {
      const Plan plan = PlanFilter(row, (*candidates)[i].prefixes, 1000 * bits);
      costs[i][bits] =
          8 * static_cast<double>(plan.payload_size + 1 + kCutSize);
    }
  }
  double budget = 8 * static_cast<double>(bytes);
  std::vector<double> passing(asked.size(), 1);
  // The factor by which question q passes candidate i less often with `bits`.
  const auto factor = [&](size_t q, size_t i, double rate, double more_rate) {
    const double m = asked[q][i];
    return m == 0 ? 1 : std::min(1.0, m * more_rate) / std::min(1.0, m * rate);
  };
  for (size_t chosen = 0;;) {
    size_t best = costs.size();
    unsigned best_bits = 0;
    double best_gain = kLeastGain * static_cast<double>(asked.size()) /
                       static_cast<double>(keys);
    for (size_t i = 0; i < costs.size(); ++i) {
      const Candidate& candidate = (*candidates)[i];
      if (candidate.bits == 0 && chosen == kMaxCuts) continue;
      const double rate = candidate.Rate(candidate.bits);
      const unsigned least = candidate.bits == 0 ? kFirstBits : 1;
      const unsigned most =
          std::min(candidate.bits + kMostBitsAtOnce, kMaxBits);
      for (unsigned bits = candidate.bits + least; bits <= most;
           bits += least) {
        const double cost = costs[i][bits] - costs[i][candidate.bits];
        if (cost > budget) break;
        const double more_rate = candidate.Rate(bits);
        double gain = 0;
        for (size_t q = 0; q < asked.size(); ++q) {
          gain += passing[q] * (1 - factor(q, i, rate, more_rate));
        }
        gain /= std::max(cost, 1.0);
        if (gain > best_gain) {
          best = i;
          best_bits = bits;
          best_gain = gain;
        }
      }
    }
    if (best == costs.size()) break;
    Candidate& candidate = (*candidates)[best];
    const double rate = candidate.Rate(candidate.bits);
    const double more_rate = candidate.Rate(best_bits);
    for (size_t q = 0; q < asked.size(); ++q) {
      passing[q] *= factor(q, best, rate, more_rate);
    }
    if (candidate.bits == 0) ++chosen;
    budget -= costs[best][best_bits] - costs[best][candidate.bits];
    candidate.bits = best_bits;
  }
}

std::vector<Candidate> Choose(const KeyStore& keys, uint64_t bytes,
                              const std::vector<EmptyRange>& ranges) {
  std::vector<Candidate> candidates;
  Asked asked;
  if (ranges.empty()) {
    // As if each cut had questions of its own.
    candidates = Candidates(keys).ForKeys();
    asked.assign(candidates.size(), std::vector<float>(candidates.size()));
    for (size_t i = 0; i < candidates.size(); ++i) asked[i][i] = 1;
  } else {
    candidates = Candidates(keys).ForQuestions(ranges);
    for (const EmptyRange& empty : ranges) {
      asked.emplace_back();
      for (const Candidate& candidate : candidates) {
        asked.back().push_back(static_cast<float>(
            PrefixesThatReject(candidate.cut, empty, keys.LeastSize())));
      }
    }
  }
  Buy(asked, keys.size(), bytes, &candidates);
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.bits > b.bits; });
  while (!candidates.empty() && candidates.back().bits == 0) {
    candidates.pop_back();
  }
  return candidates;
}

// --- Bytes -----------------------------------------------------------------

// Appends the filter of a cut: payload and last byte.
void AppendFilter(const KeyStore& keys, const Candidate& candidate,
                  const SipHashKey* seed, std::string* dst) {
  const LayoutRow* row = FindLayout(Layout::kCompact, Hash::kMurmurHash2);
  HashList hashes(row->hash_size);
  ForEachPrefix(keys, candidate.cut, [&](std::string_view prefix) {
    if (seed == nullptr) return hashes.Add(row->hash(prefix));
    char hashed[8];
    StoreFixed64(hashed, SipHash(*seed, prefix));
    hashes.Add(row->hash({hashed, sizeof(hashed)}));
  });
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
  bool first = true;
  for (size_t next = 0; next < sorted.size() && cursor.Next();) {
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
                    const SipHashKey* seed, std::string* dst) {
  const size_t most_of_last =
      std::min(keys.Last().size(), kMaxCutBytes + kBytesAfterCut);
  if (bytes < kHeaderSize + most_of_last) return false;
  const std::vector<Candidate> cuts =
      Choose(keys, bytes - kHeaderSize - most_of_last, ranges);
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
    const Cut& cut = cuts[i].cut;
    StoreFixed32(
        at, cut.count | uint32_t{cut.byte} << 8 | uint32_t{cut.bits} << 16);
    StoreFixed32(at + 4, static_cast<uint32_t>(dst->size() - filter));
  }
  return dst->size() - start <= bytes;
}

}  // namespace deltabloom::internal::range
