// Choosing cuts, and dividing bits among them.
//
// A sample that asks a cut for m prefixes passes its filter of b bits per
// prefix with a probability of 1 - (1 - 2^-b)^m, and passes all with the
// product over the cuts.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {
namespace {

// At least this share of the bits is spent on what the keys suggest. Samples
// get the rest first; what they leave goes to the keys as well. docs/design.md
// compares shares.
constexpr double kShareOfKeys = 1.0 / 3;
// After the first one, a cut is added only if it saves this share of the
// passing samples: each cut makes building and lookups slower. docs/design.md
// compares shares.
constexpr double kLeastImprovement = 0.1;
// The choice buys no more bits once as few samples pass as pass a filter with
// two bits per key more than there are.
constexpr double kBitsBeyond = 2;
// A filter of this many bits passes once in 16 million lookups.
constexpr unsigned kMaxBits = 24;

// The probability to pass, by the number of prefixes and bits.
class PassingTable {
 public:
  PassingTable() {
    for (unsigned m = 0; m <= kMaxPrefixesPerRange; ++m) {
      for (unsigned bits = 0; bits <= kMaxBits; ++bits) {
        passing_[m][bits] =
            m == 0 ? 1
                   : 1 - std::pow(1 - std::exp2(-static_cast<double>(bits)), m);
      }
    }
  }
  double operator()(unsigned prefixes, unsigned bits) const {
    return passing_[prefixes][bits];
  }

 private:
  double passing_[kMaxPrefixesPerRange + 1][kMaxBits + 1];
};

const PassingTable& Passing() {
  static const PassingTable table;
  return table;
}

// Samples that ask the cuts of a set alike, as one.
struct Pattern {
  double weight = 0;
  std::array<uint8_t, kMaxCuts> asks = {};  // of each cut in the set
};

// Some samples, divided by what they ask of a growing set of cuts.
class Patterns {
 public:
  // `weights`: of all samples, of which those in [first, last) count.
  Patterns(const std::vector<double>& weights, size_t first, size_t last)
      : weights_(weights), first_(first), pattern_of_(last - first) {
    patterns_.emplace_back();
    for (size_t i = first; i < last; ++i) patterns_[0].weight += weights[i];
  }

  const std::vector<Pattern>& Get() const { return patterns_; }

  // The weight of those samples that ask this cut. `shares`: of each pattern,
  // how much of its weight counts.
  double WeightAsking(const Candidate& cut,
                      const std::vector<double>& shares) const {
    double sum = 0;
    for (size_t i = 0; i < pattern_of_.size(); ++i) {
      if (cut.asks[first_ + i] > 0) {
        sum += weights_[first_ + i] * shares[pattern_of_[i]];
      }
    }
    return sum;
  }

  // Returns what Get() would return with one more cut.
  std::vector<Pattern> With(const Candidate& cut) const {
    std::vector<size_t> place;
    return Divided(cut, &place);
  }

  void Add(const Candidate& cut) {
    std::vector<size_t> place;
    patterns_ = Divided(cut, &place);
    for (size_t i = 0; i < pattern_of_.size(); ++i) {
      pattern_of_[i] = place[pattern_of_[i] * kAnswers + cut.asks[first_ + i]];
    }
    ++cuts_;
  }

 private:
  static constexpr size_t kAnswers = kMaxPrefixesPerRange + 1;

  // Sets (*place)[p * kAnswers + a] to the new pattern of those samples of
  // pattern p that ask the cut for a prefixes.
  std::vector<Pattern> Divided(const Candidate& cut,
                               std::vector<size_t>* place) const {
    std::vector<double> weights(kAnswers * patterns_.size());
    for (size_t i = 0; i < pattern_of_.size(); ++i) {
      weights[pattern_of_[i] * kAnswers + cut.asks[first_ + i]] +=
          weights_[first_ + i];
    }
    place->resize(weights.size());
    std::vector<Pattern> divided;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0) continue;
      (*place)[i] = divided.size();
      Pattern& pattern = divided.emplace_back(patterns_[i / kAnswers]);
      pattern.weight = weights[i];
      pattern.asks[cuts_] = static_cast<uint8_t>(i % kAnswers);
    }
    return divided;
  }

  const std::vector<double>& weights_;
  const size_t first_;
  size_t cuts_ = 0;
  std::vector<size_t> pattern_of_;  // of each sample
  std::vector<Pattern> patterns_;
};

// Chooses from candidates, adding to what it chose before.
class Chooser {
 public:
  // `enough`: the share of samples that may pass.
  Chooser(std::vector<Candidate> candidates, std::vector<double> weights,
          double enough)
      : candidates_(std::move(candidates)),
        weights_(std::move(weights)),
        enough_(enough),
        prices_(candidates_.size()) {}

  // Spends no more than `bytes` on the samples [first, last); returns what is
  // left. Of cuts that are equally good it takes the deepest, or the
  // shallowest.
  double Spend(size_t first, size_t last, double bytes, bool deepest);

  // Divides `bytes` among all candidates; each has one sample of its own.
  void SpendOnAll(double bytes);

  // The weight of the last samples that is expected to pass.
  double passing() const { return passing_; }
  std::vector<ChosenCut> Chosen() const;

 private:
  struct Division {
    std::vector<unsigned> bits;  // of each cut in the set
    double passing = 0;          // of the weight of all samples
    double left = 0;             // of the bytes
  };

  // Bytes of the filter of a cut.
  double Price(size_t candidate, unsigned bits);
  // Divides bytes among the cuts of a set, beyond the bits that they have: bit
  // by bit, to the one where a byte keeps the most samples from passing.
  Division Divide(const std::vector<size_t>& set,
                  const std::vector<Pattern>& patterns, double bytes,
                  std::vector<unsigned> bits);

  const std::vector<Candidate> candidates_;
  const std::vector<double> weights_;  // of the samples
  const double enough_;
  std::vector<std::vector<double>> prices_;  // by candidate and bits
  std::vector<size_t> set_;                  // chosen candidates
  std::vector<unsigned> bits_;               // of these
  double passing_ = 0;
};

double Chooser::Price(size_t candidate, unsigned bits) {
  std::vector<double>& prices = prices_[candidate];
  if (prices.empty()) prices.push_back(0);
  while (prices.size() <= bits) {
    const auto next = static_cast<unsigned>(prices.size());
    prices.push_back(
        static_cast<double>(BytesOfCut(candidates_[candidate].prefixes, next)));
  }
  return prices[bits];
}

Chooser::Division Chooser::Divide(const std::vector<size_t>& set,
                                  const std::vector<Pattern>& patterns,
                                  double bytes, std::vector<unsigned> bits) {
  const PassingTable& rate = Passing();
  std::vector<double> passing;
  double all = 0, sum = 0;
  for (const Pattern& pattern : patterns) {
    double& passes = passing.emplace_back(pattern.weight);
    for (size_t i = 0; i < set.size(); ++i) {
      passes *= rate(pattern.asks[i], bits[i]);
    }
    all += pattern.weight;
    sum += passes;
  }
  while (sum > enough_ * all) {
    size_t best = 0;
    unsigned best_bits = 0;
    double best_gain = 0;  // per byte
    for (size_t i = 0; i < set.size(); ++i) {
      std::array<double, kMaxPrefixesPerRange + 1> by_prefixes = {};
      for (size_t p = 0; p < patterns.size(); ++p) {
        by_prefixes[patterns[p].asks[i]] += passing[p];
      }
      const unsigned more = bits[i] + 1;
      if (more > kMaxBits) continue;
      const double price = Price(set[i], more) - Price(set[i], bits[i]);
      if (price > bytes) continue;
      double rejected = 0;
      for (unsigned m = 1; m < by_prefixes.size(); ++m) {
        rejected += by_prefixes[m] * (1 - rate(m, more) / rate(m, bits[i]));
      }
      // Sizes are rounded to words, so a bit can be free.
      const double gain = rejected / std::max(price, 1.0 / 8);
      if (gain <= best_gain) continue;
      best = i;
      best_bits = more;
      best_gain = gain;
    }
    if (best_bits == 0) break;
    sum = 0;
    for (size_t p = 0; p < patterns.size(); ++p) {
      const uint8_t m = patterns[p].asks[best];
      passing[p] *= rate(m, best_bits) / rate(m, bits[best]);
      sum += passing[p];
    }
    bytes -= Price(set[best], best_bits) - Price(set[best], bits[best]);
    bits[best] = best_bits;
  }
  // Sums below `enough_` make no cut better than another.
  return {std::move(bits), std::max(sum, enough_ * all), bytes};
}

double Chooser::Spend(size_t first, size_t last, double bytes, bool deepest) {
  Patterns patterns(weights_, first, last);
  for (const size_t i : set_) patterns.Add(candidates_[i]);
  std::vector<unsigned> had = bits_;  // 0 for those that are added
  Division best = Divide(set_, patterns.Get(), bytes, had);
  while (set_.size() < kMaxCuts) {
    constexpr size_t kNone = ~size_t{0};
    size_t added = kNone;
    Division best_with;
    const double least = set_.empty() ? 0 : kLeastImprovement;
    best_with.passing = best.passing * (1 - least);
    had.push_back(0);
    std::vector<double> shares;  // of each pattern, how much passes so far
    for (const Pattern& pattern : patterns.Get()) {
      double& share = shares.emplace_back(1);
      for (size_t i = 0; i < set_.size(); ++i) {
        share *= Passing()(pattern.asks[i], best.bits[i]);
      }
    }
    for (size_t n = 0; n < candidates_.size(); ++n) {
      const size_t i = deepest ? candidates_.size() - 1 - n : n;
      if (std::find(set_.begin(), set_.end(), i) != set_.end()) continue;
      // It cannot reject more than what still passes and asks it.
      if (patterns.WeightAsking(candidates_[i], shares) <
          best.passing - best_with.passing) {
        continue;
      }
      set_.push_back(i);
      Division with = Divide(set_, patterns.With(candidates_[i]), bytes, had);
      set_.pop_back();
      // Equal but for rounding is no better.
      if (with.passing >= best_with.passing * (1 - 1e-9)) continue;
      added = i;
      best_with = std::move(with);
    }
    if (added == kNone) break;
    patterns.Add(candidates_[added]);
    set_.push_back(added);
    best = std::move(best_with);
  }
  bits_ = std::move(best.bits);
  passing_ = best.passing;
  return best.left;
}

void Chooser::SpendOnAll(double bytes) {
  std::vector<Pattern> patterns(candidates_.size());
  for (size_t i = 0; i < candidates_.size(); ++i) {
    set_.push_back(i);
    patterns[i].weight = 1;
    patterns[i].asks[i] = 1;
  }
  bits_.resize(set_.size());
  bits_ = Divide(set_, patterns, bytes, bits_).bits;
}

std::vector<ChosenCut> Chooser::Chosen() const {
  std::vector<ChosenCut> cuts;
  for (size_t i = 0; i < set_.size(); ++i) {
    if (bits_[i] > 0) cuts.push_back({candidates_[set_[i]].cut, bits_[i]});
  }
  return cuts;
}

}  // namespace

Choice ChooseCuts(const KeyStore& keys, uint64_t bytes,
                  const std::vector<Sample>& looked_up,
                  const std::vector<Sample>& suggested) {
  const size_t header = BytesBeforeCuts(keys);
  if (bytes < header) return {};
  std::vector<Sample> all = looked_up;
  all.insert(all.end(), suggested.begin(), suggested.end());
  std::vector<double> weights;
  for (const Sample& sample : all) weights.push_back(sample.weight);

  auto left = static_cast<double>(bytes - header);
  const double bits_per_key = 8 * left / static_cast<double>(keys.size());
  Chooser chooser(FindCandidates(keys, all), std::move(weights),
                  std::exp2(-(bits_per_key + kBitsBeyond)));
  Choice choice;
  if (!looked_up.empty()) {
    const double share = (1 - kShareOfKeys) * left;
    left -= share - chooser.Spend(0, looked_up.size(), share, true);
    choice.looked_up_passing = chooser.passing();
    choice.learned = chooser.Chosen().size();
  }
  chooser.Spend(looked_up.size(), all.size(), left, false);
  choice.suggested_passing = chooser.passing();
  choice.cuts = chooser.Chosen();
  return choice;
}

Choice ChooseBits(const KeyStore& keys, uint64_t bytes,
                  const std::vector<Cut>& cuts) {
  const size_t header = BytesBeforeCuts(keys);
  if (bytes < header) return {};
  Chooser chooser(FixedCandidates(keys, cuts), {}, 0);
  chooser.SpendOnAll(static_cast<double>(bytes - header));
  return {chooser.Chosen(), 0, 0, 0};
}

}  // namespace deltabloom::internal::range
