// Writing prefixes: which cuts, with how many bits per prefix each.
//
// A scan that a cut can answer passes its filter of b bits per prefix with a
// probability of about m * 2^-b, m being the prefixes that it asks for, and
// passes the part with the product over the cuts. Bits are bought greedily for
// the cut that lets the fewest scans pass per bit spent; a cut with few
// distinct prefixes is cheap.
//
// The scans are the sample questions that hold no key. Without them, the
// builder makes some up: for some keys, the scan of each of their prefixes that
// parts them from other keys, as if the keys with that prefix did not exist.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "util/coding.h"
#include "util/cpu.h"
#include "util/hash_list.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kHeaderSize = 3;
constexpr size_t kBytesAfterCut = 8;
constexpr unsigned kMaxBits = 24;   // per prefix
constexpr unsigned kFirstBits = 2;  // of a cut that is chosen
constexpr unsigned kMostBitsAtOnce = 4;
// A bit per key must turn away this share of the scans.
constexpr double kLeastGain = 1e-4;
// Layout local builds in a sixth of compact's time, and its rate falls by 0.69
// bits per bit. It is for cuts of few prefixes, and for those beyond this many
// per key in all.
constexpr double kCompactPerKey = 1;
constexpr double kBloomBits = 0.69;
constexpr uint64_t kFewPrefixes = 200;
// The most prefixes per key that a part holds in all filters.
constexpr double kPrefixesPerKey = 2;

// Of questions.
constexpr size_t kQuantiles = 8;
constexpr size_t kQuestionsPerDelimiter = 20;
// Of keys. Lengths of prefixes, of which there must be this many times as many
// as of prefixes that are one byte shorter.
constexpr size_t kSampledKeys = 64;
constexpr float kWeightOfComponents = 3;
constexpr size_t kMaxLengths = 24;
constexpr double kLeastGrowth = 1.02;
constexpr double kNearlyAll = 0.9;
constexpr unsigned kBitsBetweenKeys = 3;
constexpr uint8_t kMaxDelimiterCount = 16;
constexpr unsigned kMaxDelimiterCountOfKeys = 6;
constexpr size_t kMaxDelimiters = 3;

using Candidate = PlannedCut;

Plan PlanOf(const Candidate& candidate, unsigned bits) {
  return PlanFilter(FindLayout(candidate.layout, Hash::kMurmurHash2),
                    candidate.prefixes, 1000 * bits);
}

bool IsAlphanumeric(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z');
}

Cut BitsCut(unsigned bits) {
  Cut cut;
  cut.bits = static_cast<uint16_t>(bits);
  return cut;
}

Cut DelimiterCut(unsigned byte, unsigned count) {
  Cut cut;
  cut.byte = static_cast<uint8_t>(byte);
  cut.count = static_cast<uint8_t>(count);
  return cut;
}

// --- Reading the keys once --------------------------------------------------

// How many keys have a byte so often, and how many distinct prefixes end there.
struct DelimiterCount {
  uint64_t prefixes = 0;
  uint64_t keys = 0;
};

// By byte, for those that may be delimiters, and by how often it occurs.
class DelimiterCounts {
 public:
  explicit DelimiterCounts(const std::string& bytes)
      : bytes_(bytes), counts_(256) {
    for (const char byte : bytes) {
      most_[static_cast<unsigned char>(byte)] = kMaxDelimiterCount;
    }
  }

  void Add(const KeyStore::Cursor& cursor, size_t kept_of_each) {
    DropBeyond(cursor.shared());
    const std::string_view key = cursor.key().substr(0, kMaxCutBytes);
    for (size_t i = cursor.shared(); i < key.size(); ++i) {
      const auto byte = static_cast<unsigned char>(key[i]);
      if (found_[byte] >= most_[byte]) continue;
      marks_.push_back({i + 1, byte, keys_});
      ++counts_[byte][++found_[byte]].prefixes;
    }
    ++keys_;
    if (key.size() == kMaxCutBytes || key.size() < kept_of_each) return;
    // What follows is not known.
    for (size_t i = bytes_.size(); i-- > 0;) {
      const auto byte = static_cast<unsigned char>(bytes_[i]);
      most_[byte] = std::min(most_[byte], found_[byte]);
      if (most_[byte] == 0) bytes_.erase(i, 1);
    }
  }

  void Close() { DropBeyond(0); }

  DelimiterCount Of(unsigned byte, unsigned count) const {
    return count <= most_[byte] ? counts_[byte][count] : DelimiterCount();
  }

 private:
  struct Mark {
    size_t end;
    unsigned char byte;
    uint64_t since;  // the key with which it came
  };

  void DropBeyond(size_t end) {
    for (; !marks_.empty() && marks_.back().end > end; marks_.pop_back()) {
      const Mark& mark = marks_.back();
      counts_[mark.byte][found_[mark.byte]--].keys += keys_ - mark.since;
    }
  }

  std::string bytes_;  // known of all keys at least once
  std::vector<std::array<DelimiterCount, kMaxDelimiterCount + 1>> counts_;
  std::vector<Mark> marks_;  // in the last key
  // How often a byte was found in the last key, and how often it is known of
  // all keys.
  std::array<uint8_t, 256> found_ = {}, most_ = {};
  uint64_t keys_ = 0;
};

// A scan of all keys with a prefix, in which there are none; its longest common
// beginning with a key is of `shared_bits`.
struct Scan {
  std::string prefix;
  unsigned shared_bits;
  float weight = 1;
};

// Makes up scans of some of the keys.
class ScanSampler {
 public:
  explicit ScanSampler(uint64_t keys)
      : distance_(std::max<uint64_t>(1, keys / kSampledKeys)) {}

  void Add(const KeyStore::Cursor& cursor) {
    const unsigned shared = keys_ == 0 ? 0 : cursor.shared_bits();
    while (!before_.empty() && before_.back() >= shared) before_.pop_back();
    if (keys_ > 0) before_.push_back(shared);
    // A key that is sampled later shares no less with the last one.
    for (size_t i = sampled_.size(); i-- > 0 && sampled_[i].shared > shared;) {
      sampled_[i].shared = shared;
      sampled_[i].others.push_back(shared);
    }
    if (keys_ % distance_ == distance_ / 2) {
      sampled_.push_back({std::string(cursor.key()), before_, ~0u});
    }
    ++keys_;
  }

  std::vector<Scan> Close(size_t kept_bytes) {
    std::vector<Scan> scans;
    for (SampledKey& sampled : sampled_) {
      std::vector<unsigned>& others = sampled.others;
      std::sort(others.begin(), others.end());
      const size_t size = std::min(sampled.key.size(), kept_bytes);
      for (size_t i = 0; i < others.size() && others[i] / 8 < size; ++i) {
        const size_t length = others[i] / 8 + 1;
        if (i + 1 < others.size() && others[i + 1] < 8 * length) continue;
        scans.push_back({sampled.key.substr(0, length), others[i]});
      }
      // Up to a delimiter, and the whole key.
      size_t begin = 0;
      for (size_t end = 1; end <= size; ++end) {
        if (end < size && IsAlphanumeric(sampled.key[end - 1])) continue;
        const auto other =
            std::lower_bound(others.begin(), others.end(), 8 * end);
        if (other != others.begin() && other[-1] >= 8 * begin) {
          scans.push_back(
              {sampled.key.substr(0, end), other[-1], kWeightOfComponents});
        }
        begin = end;
      }
    }
    return scans;
  }

 private:
  struct SampledKey {
    std::string key;
    std::vector<unsigned> others;  // bits shared with other keys
    unsigned shared;               // with the last key, at least
  };

  const uint64_t distance_;
  uint64_t keys_ = 0;
  std::vector<unsigned> before_;  // bits that the last key shares, ascending
  std::vector<SampledKey> sampled_;
};

// --- Candidates ------------------------------------------------------------

// For each scan the prefixes it asks for at each candidate, 0 where that
// candidate cannot reject it; and how many scans are like that.
using Asked = std::map<std::vector<uint8_t>, float>;

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

bool Rejects(const Cut& cut, const Scan& scan) {
  if (cut.count == 0) {
    return cut.bits > scan.shared_bits && cut.bits <= 8 * scan.prefix.size();
  }
  char bytes[kMaxCutBytes];
  return 8 * PrefixOf(cut, scan.prefix, bytes).size() > scan.shared_bits;
}

class Chooser {
 public:
  Chooser(const KeyStore& keys, const std::vector<Cut>& fixed)
      : keys_(keys),
        fixed_(fixed),
        kept_(static_cast<unsigned>(
            8 * std::min(keys.KeptOfEach(), kMaxCutBytes))) {}

  PrefixesPlan Choose(uint64_t bytes, const std::vector<EmptyRange>& ranges) {
    if (!fixed_.empty()) {
      FixedCandidates();
    } else if (!ranges.empty()) {
      CandidatesOf(ranges);
    } else {
      CandidatesOfKeys();
    }
    const double passing = Buy(8 * static_cast<double>(bytes));
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::make_pair(a.bits == 0, b.rejects) <
                              std::make_pair(b.bits == 0, a.rejects);
                     });
    while (!candidates_.empty() && candidates_.back().bits == 0) {
      candidates_.pop_back();
    }
    return {std::move(candidates_), passing};
  }

 private:
  void Add(const Cut& cut, uint64_t prefixes) {
    if (prefixes > 1) candidates_.push_back({cut, prefixes});
  }
  void AddBits(unsigned bits) {
    Add(BitsCut(bits), keys_.DistinctPrefixes(bits));
  }

  DelimiterCounts Count(const std::string& bytes, ScanSampler* sampler) {
    DelimiterCounts counts(bytes);
    if (bytes.empty() && sampler == nullptr) return counts;
    for (KeyStore::Cursor cursor(keys_); cursor.Next();) {
      if (!bytes.empty()) counts.Add(cursor, keys_.KeptOfEach());
      if (sampler != nullptr) sampler->Add(cursor);
    }
    counts.Close();
    return counts;
  }

  // As if each cut had scans of its own.
  void FixedCandidates() {
    std::string bytes;
    for (const Cut& cut : fixed_) {
      if (cut.count > 0) bytes.push_back(static_cast<char>(cut.byte));
    }
    const DelimiterCounts counts = Count(bytes, nullptr);
    for (const Cut& cut : fixed_) {
      if (cut.count > 0) {
        Add(cut, counts.Of(cut.byte, cut.count).prefixes);
      } else {
        AddBits(std::min<unsigned>(cut.bits, kept_));
      }
    }
    for (size_t i = 0; i < candidates_.size(); ++i) {
      std::vector<uint8_t> row(candidates_.size());
      row[i] = 1;
      asked_[row] = 1;
    }
  }

  // Lengths at which keys part, the length that distinguishes nearly all keys,
  // and bytes that are no letters or digits and occur in many keys.
  void CandidatesOfKeys() {
    std::vector<std::pair<double, unsigned>> lengths;
    uint64_t before = 1;
    for (unsigned bits = 8; bits <= kept_; bits += 8) {
      const uint64_t prefixes = keys_.DistinctPrefixes(bits);
      const double growth =
          static_cast<double>(prefixes) / static_cast<double>(before);
      if (growth > kLeastGrowth) lengths.emplace_back(-growth, bits);
      before = prefixes;
    }
    std::sort(lengths.begin(), lengths.end());
    lengths.resize(std::min(lengths.size(), kMaxLengths));
    for (const auto& length : lengths) AddBits(length.second);
    const auto nearly_all =
        static_cast<uint64_t>(kNearlyAll * static_cast<double>(keys_.size()));
    unsigned bits = 0;
    while (bits < kept_ && keys_.DistinctPrefixes(bits) <= nearly_all) ++bits;
    bits = std::min(bits + kBitsBetweenKeys, kept_);
    if (bits % 8 != 0) AddBits(bits);

    std::string bytes;
    // In keys of one size a delimiter is at one place, or is none.
    for (int byte = 0; byte < 128 && !keys_.OneWidth(); ++byte) {
      const char delimiter = static_cast<char>(byte);
      if (!IsAlphanumeric(delimiter)) bytes.push_back(delimiter);
    }
    ScanSampler sampler(keys_.size());
    const DelimiterCounts counts = Count(bytes, &sampler);
    std::vector<std::pair<uint64_t, unsigned>> delimiters;
    for (unsigned byte = 0; byte < 128; ++byte) {
      const uint64_t keys = counts.Of(byte, 1).keys;
      if (keys * 5 >= keys_.size()) delimiters.emplace_back(keys, byte);
    }
    std::sort(delimiters.rbegin(), delimiters.rend());
    delimiters.resize(std::min(delimiters.size(), kMaxDelimiters));
    for (const auto& [keys, byte] : delimiters) {
      for (unsigned count = 1; count <= kMaxDelimiterCountOfKeys; ++count) {
        const DelimiterCount of = counts.Of(byte, count);
        // A delimiter that opens as many groups as the one before adds nothing.
        if (of.keys * 10 >= keys_.size() &&
            (count == 1 ||
             of.prefixes != counts.Of(byte, count - 1).prefixes)) {
          Add(DelimiterCut(byte, count), of.prefixes);
        }
      }
    }
    for (const Scan& scan : sampler.Close(kept_ / 8)) {
      std::vector<uint8_t> row;
      for (const Candidate& candidate : candidates_) {
        row.push_back(Rejects(candidate.cut, scan));
      }
      asked_[row] += scan.weight;
    }
  }

  // Quantiles of the shallowest cuts that reject a range and of the deepest
  // that can be asked, a cut for each range that none of them rejects, and, as
  // a delimiter, the last byte that all keys of a range have in common, where a
  // twentieth of the ranges share it. Letters and digits are none: greedy
  // buying would prefer a cut for each last digit of a number to its length.
  void CandidatesOf(const std::vector<EmptyRange>& ranges) {
    std::vector<unsigned> shallowest, deepest;
    std::vector<std::pair<unsigned, unsigned>> rejecting;  // first, last
    std::map<std::pair<unsigned, unsigned>, size_t> delimiters;
    for (const EmptyRange& empty : ranges) {
      const KeyRange range(empty.lower, empty.upper);
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
        // There a range of numbers has a quarter of the prefixes.
        if (deep > 8 * range.common + 2) deepest.push_back(deep - 2);
        const unsigned last = deep;
        unsigned no = 0;
        while (deep - no > 1) {
          const unsigned middle = no + (deep - no) / 2;
          (rejects(middle) ? deep : no) = middle;
        }
        shallowest.push_back(deep);
        rejecting.emplace_back(deep, last);
      }
      if (range.common == 0 || range.common > kMaxCutBytes) continue;
      const std::string_view common = range.lower.substr(0, range.common);
      if (IsAlphanumeric(common.back())) continue;
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
    std::sort(rejecting.rbegin(), rejecting.rend());
    for (const auto& [first, last] : rejecting) {
      if (bits.size() >= kMaxLengths) break;
      const auto cut = bits.lower_bound(first);
      if (cut == bits.end() || *cut > last) bits.insert(first);
    }
    std::string bytes;
    for (auto i = delimiters.begin(); i != delimiters.end();) {
      const bool rare = i->second * kQuestionsPerDelimiter < ranges.size();
      if (!rare) bytes.push_back(static_cast<char>(i->first.first));
      i = rare ? delimiters.erase(i) : std::next(i);
    }
    const DelimiterCounts counts = Count(bytes, nullptr);
    for (const auto& [delimiter, n] : delimiters) {
      const auto [byte, count] = delimiter;
      Add(DelimiterCut(byte, count), counts.Of(byte, count).prefixes);
    }
    // Of equal candidates the first is bought. A delimiter fits more ranges
    // than those of the sample.
    for (const unsigned value : bits) AddBits(value);
    for (const EmptyRange& empty : ranges) {
      std::vector<uint8_t> row;
      for (const Candidate& candidate : candidates_) {
        row.push_back(
            PrefixesThatReject(candidate.cut, empty, keys_.LeastSize()));
      }
      ++asked_[row];
    }
  }

  // The share of scans that ask for m prefixes and pass.
  static double Passing(Layout layout, unsigned m, unsigned bits) {
    const double rate =
        std::exp2(-(layout == Layout::kLocal ? kBloomBits : 1.0) * bits);
    return std::min(1.0, m * rate);
  }

  // Sets the bits of the candidates. Returns how many scans pass.
  double Buy(double budget) {
    const auto keys = static_cast<double>(keys_.size());
    double compact = kCompactPerKey * keys, prefixes = kPrefixesPerKey * keys;
    double scans = 0;
    std::vector<double> passing;
    for (const auto& [row, n] : asked_) scans += passing.emplace_back(n);
    const auto cost = [](const Candidate& candidate, unsigned bits) {
      return bits == 0
                 ? 0.0
                 : 8 * static_cast<double>(
                           PlanOf(candidate, bits).payload_size + 1 + kCutSize);
    };
    for (size_t chosen = 0;;) {
      Candidate* best = nullptr;
      unsigned best_bits = 0;
      double best_gain = kLeastGain * scans / keys;
      for (size_t i = 0; i < candidates_.size(); ++i) {
        Candidate& candidate = candidates_[i];
        if (candidate.bits == 0) {
          const auto n = static_cast<double>(candidate.prefixes);
          if (chosen == kMaxCuts || (fixed_.empty() && n > prefixes)) continue;
          candidate.layout = n > compact || candidate.prefixes < kFewPrefixes
                                 ? Layout::kLocal
                                 : Layout::kCompact;
        }
        std::array<double, kMaxPrefixesPerRange + 1> by_prefixes = {};
        size_t q = 0;
        for (const auto& [row, n] : asked_) by_prefixes[row[i]] += passing[q++];
        const double spent = cost(candidate, candidate.bits);
        const unsigned least = candidate.bits == 0 ? kFirstBits : 1;
        const unsigned most =
            std::min(candidate.bits + kMostBitsAtOnce, kMaxBits);
        for (unsigned bits = candidate.bits + least; bits <= most;
             bits += least) {
          const double price = cost(candidate, bits) - spent;
          if (price > budget) break;
          double gain = 0;
          for (unsigned m = 1; m < by_prefixes.size(); ++m) {
            if (by_prefixes[m] == 0) continue;
            gain += by_prefixes[m] *
                    (1 - Passing(candidate.layout, m, bits) /
                             Passing(candidate.layout, m, candidate.bits));
          }
          gain /= std::max(price, 1.0);
          if (gain > best_gain) {
            best = &candidate;
            best_bits = bits;
            best_gain = gain;
          }
        }
      }
      if (best == nullptr) {
        return std::accumulate(passing.begin(), passing.end(), 0.0);
      }
      const auto index = static_cast<size_t>(best - candidates_.data());
      size_t q = 0;
      best->rejects = 0;
      for (const auto& [row, n] : asked_) {
        double& pass = passing[q++];
        if (row[index] == 0) continue;
        const double rate = Passing(best->layout, row[index], best_bits);
        pass *= rate / Passing(best->layout, row[index], best->bits);
        best->rejects += n * (1 - rate);
      }
      if (best->bits == 0) {
        ++chosen;
        const auto n = static_cast<double>(best->prefixes);
        prefixes -= n;
        if (best->layout == Layout::kCompact) compact -= n;
      }
      budget -= cost(*best, best_bits) - cost(*best, best->bits);
      best->bits = best_bits;
    }
  }

  const KeyStore& keys_;
  const std::vector<Cut>& fixed_;
  const unsigned kept_;  // bits of every key
  std::vector<Candidate> candidates_;
  Asked asked_;
};

// --- Bytes -----------------------------------------------------------------

// The hashes of the distinct prefixes of one cut.
class CutHashes {
 public:
  CutHashes(const Candidate& candidate, const SipHashKey* seed)
      : candidate_(candidate),
        seed_(seed),
        row_(FindLayout(candidate.layout, Hash::kMurmurHash2)),
        hashes_(row_->hash_size),
        known_bits_(candidate.cut.count > 0 ? kNone : candidate.cut.bits) {}

  // Keys that share these bits with the last one have its prefix.
  size_t known_bits() const { return known_bits_; }

  // Whether the prefix can be another one than the last.
  bool Add(const KeyStore::Cursor& cursor) {
    if (8 * cursor.shared() >= known_bits_) {
      return candidate_.cut.count > 0;
    }
    char bytes[kMaxCutBytes];
    const Cut& cut = candidate_.cut;
    const std::string_view prefix = PrefixOf(cut, cursor.key(), bytes);
    if (cut.count > 0) known_bits_ = prefix.empty() ? kNone : 8 * prefix.size();
    if (prefix.empty()) return true;
    char hashed[8];
    if (seed_ != nullptr) StoreFixed64(hashed, SipHash(*seed_, prefix));
    const uint64_t hash = row_->hash(
        seed_ == nullptr ? prefix : std::string_view(hashed, sizeof(hashed)));
    if (hashes_.size() == 0 || hash != last_) hashes_.Add(hash);
    last_ = hash;
    return true;
  }

  // Appends the filter: payload and last byte.
  void AppendFilter(std::string* dst) {
    const size_t start = dst->size();
    for (const LayoutRow* row = row_; row != nullptr; row = row->fallback) {
      const Plan plan = PlanFilter(row, hashes_.size(), 1000 * candidate_.bits);
      dst->resize(start);
      dst->resize(start + plan.payload_size + 1, '\0');
      row = plan.layout;
      if (row->build(&hashes_, /*keep_hashes=*/false, plan, ActiveCpu(),
                     reinterpret_cast<unsigned char*>(&(*dst)[start]))) {
        dst->back() = static_cast<char>(plan.last_byte);
        break;
      }
    }
    hashes_.Clear();
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  const Candidate candidate_;
  const SipHashKey* const seed_;
  const LayoutRow* const row_;
  HashList hashes_;
  size_t known_bits_;
  uint64_t last_ = 0;
};

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

PrefixesPlan PlanPrefixes(const KeyStore& keys, uint64_t bytes,
                          const std::vector<EmptyRange>& ranges,
                          const std::vector<Cut>& fixed) {
  const size_t header =
      kHeaderSize + std::min(keys.Last().size(), kMaxCutBytes + kBytesAfterCut);
  if (bytes < header) return {};
  return Chooser(keys, fixed).Choose(bytes - header, ranges);
}

void AppendPrefixes(const KeyStore& keys, const std::vector<PlannedCut>& cuts,
                    const SipHashKey* seed, std::string* dst) {
  std::vector<CutHashes> hashes;
  for (const Candidate& cut : cuts) hashes.emplace_back(cut, seed);
  // Those whose prefix changes most often first.
  std::vector<CutHashes*> deepest_first;
  for (CutHashes& cut : hashes) deepest_first.push_back(&cut);
  std::sort(deepest_first.begin(), deepest_first.end(),
            [](const CutHashes* a, const CutHashes* b) {
              return a->known_bits() > b->known_bits();
            });
  for (KeyStore::Cursor cursor(keys); cursor.Next();) {
    for (CutHashes* cut : deepest_first) {
      // Shallower ones have not changed either.
      if (!cut->Add(cursor)) break;
    }
  }
  dst->push_back(static_cast<char>(std::min<size_t>(keys.LeastSize(), 255)));
  const size_t last_size = LastSize(keys, cuts);
  dst->push_back(static_cast<char>(last_size));
  dst->append(keys.Last(), 0, last_size);
  dst->push_back(static_cast<char>(cuts.size()));
  const size_t table = dst->size();
  dst->resize(table + kCutSize * cuts.size());
  for (size_t i = 0; i < cuts.size(); ++i) {
    const size_t filter = dst->size();
    hashes[i].AppendFilter(dst);
    char* const at = &(*dst)[table + kCutSize * i];
    const Cut& cut = cuts[i].cut;
    StoreFixed32(
        at, cut.count | uint32_t{cut.byte} << 8 | uint32_t{cut.bits} << 16);
    StoreFixed32(at + 4, static_cast<uint32_t>(dst->size() - filter));
  }
}

}  // namespace deltabloom::internal::range
