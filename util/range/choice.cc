#include "util/range/choice.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "util/range/bit_division.h"
#include "util/range/candidates.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/passing.h"
#include "util/range/patterns.h"
#include "util/range/prefixes_writer.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {
namespace {

// At least this share of the bits is spent on what the keys suggest. Samples
// get the rest first; what they leave goes to the keys as well. docs/design.md
// compares shares ("What each part is worth").
constexpr double kShareOfKeys = 1.0 / 3;
// After the first one, which is better than no filter even if it rejects few
// samples, a cut is added only if it saves this share of the passing samples:
// each cut makes building and lookups slower. docs/design.md compares shares.
constexpr double kLeastImprovement = 0.1;
// The choice buys no more bits once as few samples pass as pass a filter with
// two bits per key more than there are. docs/design.md has the table without.
constexpr double kBitsBeyond = 2;
// Cuts count as equally good if what passes them differs by less than this
// part: the choice must not depend on how a compiler rounds.
constexpr double kRounding = 1e-9;

// Adds cuts to a set, for one kind of samples after the other.
class Chooser {
 public:
  // `weights`: those of all samples. `enough`: the share of the weight that may
  // pass.
  Chooser(std::vector<Candidate> candidates, std::vector<double> weights,
          double enough)
      : candidates_(std::move(candidates)),
        weights_(std::move(weights)),
        enough_(enough),
        sizes_(candidates_) {}
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;

  // Spends no more than `bytes` on the samples [first, last); returns what is
  // left.
  double Spend(size_t first, size_t last, double bytes);

  // Divides `bytes` among all candidates, as if each had one sample of its own.
  void SpendOnAll(double bytes);

  // The weight of the last samples that is expected to pass.
  double passing() const { return passing_; }
  std::vector<ChosenCut> Chosen() const;

 private:
  static constexpr size_t kNone = ~size_t{0};

  size_t FindBestAddition(const Patterns& patterns, double bytes,
                          Division* division);
  Division Divide(const std::vector<Pattern>& patterns, double bytes);

  const std::vector<Candidate> candidates_;
  const std::vector<double> weights_;
  const double enough_;
  FilterSizes sizes_;
  std::vector<size_t> set_;     // chosen candidates
  std::vector<unsigned> bits_;  // of these, paid for by earlier samples
  double passing_ = 0;
};

// Divides bytes among the cuts of the set, beyond the bits that they have.
Division Chooser::Divide(const std::vector<Pattern>& patterns, double bytes) {
  std::vector<unsigned> bits = bits_;
  bits.resize(set_.size());
  return DivideBytes(set_, patterns, bytes, enough_, std::move(bits), &sizes_);
}

// Returns the candidate with which, all bytes divided anew, the fewest samples
// pass, and sets *division to that; returns kNone if none helps enough.
// *division is what the set has without it.
size_t Chooser::FindBestAddition(const Patterns& patterns, double bytes,
                                 Division* division) {
  const double passing = division->passing;
  const double least_improvement = set_.empty() ? 0 : kLeastImprovement;
  const double most_passing = passing * (1 - least_improvement);
  std::vector<double> shares;  // of each pattern, how much passes so far
  for (const Pattern& pattern : patterns.Get()) {
    double& share = shares.emplace_back(1);
    for (size_t i = 0; i < set_.size(); ++i) {
      share *= Passing(pattern.asks[i], division->bits[i]);
    }
  }
  size_t best = kNone;
  double best_passing = most_passing;
  // The deepest of equally good cuts is taken, as it also rejects ranges nearer
  // to keys.
  for (size_t i = candidates_.size(); i-- > 0;) {
    if (std::find(set_.begin(), set_.end(), i) != set_.end()) continue;
    // A cut rejects at most what still passes and asks it.
    if (patterns.WeightAsking(candidates_[i], shares) <
        passing - best_passing) {
      continue;
    }
    set_.push_back(i);
    Division with = Divide(patterns.With(candidates_[i]), bytes);
    set_.pop_back();
    if (with.passing >= best_passing * (1 - kRounding)) continue;
    best = i;
    best_passing = with.passing;
    *division = std::move(with);
  }
  return best;
}

double Chooser::Spend(size_t first, size_t last, double bytes) {
  Patterns patterns(weights_, first, last);
  for (const size_t i : set_) patterns.Add(candidates_[i]);
  Division division = Divide(patterns.Get(), bytes);
  while (set_.size() < kMaxCuts) {
    const size_t added = FindBestAddition(patterns, bytes, &division);
    if (added == kNone) break;
    patterns.Add(candidates_[added]);
    set_.push_back(added);
  }
  passing_ = division.passing;
  // A cut that was added early can have lost its bits to later ones.
  std::vector<size_t> set;
  bits_.clear();
  for (size_t i = 0; i < set_.size(); ++i) {
    if (division.bits[i] == 0) continue;
    set.push_back(set_[i]);
    bits_.push_back(division.bits[i]);
  }
  set_ = std::move(set);
  return division.bytes_left;
}

void Chooser::SpendOnAll(double bytes) {
  std::vector<Pattern> patterns(candidates_.size());
  for (size_t i = 0; i < candidates_.size(); ++i) {
    set_.push_back(i);
    patterns[i].weight = 1;
    patterns[i].asks[i] = 1;
  }
  bits_ = Divide(patterns, bytes).bits;
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
                  const std::vector<Sample>& samples, size_t looked_up) {
  const size_t header = BytesBeforeCuts(keys);
  if (bytes < header) return {};
  std::vector<double> weights;
  for (const Sample& sample : samples) weights.push_back(sample.weight);

  auto bytes_left = static_cast<double>(bytes - header);
  const double bits_per_key = 8 * bytes_left / static_cast<double>(keys.size());
  const double enough = std::exp2(-(bits_per_key + kBitsBeyond));
  Chooser chooser(FindCandidates(keys, samples), std::move(weights), enough);
  Choice choice;
  if (looked_up > 0) {
    const double share = (1 - kShareOfKeys) * bytes_left;
    bytes_left -= share - chooser.Spend(0, looked_up, share);
    choice.looked_up_passing = chooser.passing();
    choice.learned = chooser.Chosen().size();
  }
  chooser.Spend(looked_up, samples.size(), bytes_left);
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
