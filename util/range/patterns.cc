#include "util/range/patterns.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/range/candidates.h"
#include "util/range/prefixes_of_range.h"

namespace deltabloom::internal::range {
namespace {

// A sample asks a cut for 0 to kMaxPrefixesPerRange prefixes.
constexpr size_t kAsks = kMaxPrefixesPerRange + 1;

}  // namespace

Patterns::Patterns(const std::vector<double>& weights, size_t first,
                   size_t last)
    : weights_(weights), first_(first), pattern_of_(last - first) {
  Pattern& all = patterns_.emplace_back();
  for (size_t i = first; i < last; ++i) all.weight += weights[i];
}

std::vector<Pattern> Patterns::With(const Candidate& cut) const {
  std::vector<size_t> place;
  return Divided(cut, &place);
}

void Patterns::Add(const Candidate& cut) {
  std::vector<size_t> place;
  patterns_ = Divided(cut, &place);
  for (size_t i = 0; i < pattern_of_.size(); ++i) {
    pattern_of_[i] = place[pattern_of_[i] * kAsks + cut.asks[first_ + i]];
  }
  ++cuts_;
}

double Patterns::WeightAsking(const Candidate& cut,
                              const std::vector<double>& shares) const {
  double sum = 0;
  for (size_t i = 0; i < pattern_of_.size(); ++i) {
    if (cut.asks[first_ + i] > 0) {
      sum += weights_[first_ + i] * shares[pattern_of_[i]];
    }
  }
  return sum;
}

// Returns the patterns with one more cut. Sets (*place)[p * kAsks + a] to the
// new pattern of those samples of pattern p that ask the cut for a prefixes.
std::vector<Pattern> Patterns::Divided(const Candidate& cut,
                                       std::vector<size_t>* place) const {
  std::vector<double> weights(kAsks * patterns_.size());
  for (size_t i = 0; i < pattern_of_.size(); ++i) {
    weights[pattern_of_[i] * kAsks + cut.asks[first_ + i]] +=
        weights_[first_ + i];
  }
  place->resize(weights.size());
  std::vector<Pattern> divided;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    (*place)[i] = divided.size();
    Pattern& pattern = divided.emplace_back(patterns_[i / kAsks]);
    pattern.weight = weights[i];
    pattern.asks[cuts_] = static_cast<uint8_t>(i % kAsks);
  }
  return divided;
}

}  // namespace deltabloom::internal::range
