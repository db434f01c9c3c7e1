#include "util/range/candidates.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "util/range/cut.h"
#include "util/range/delimiters.h"
#include "util/range/key_store.h"
#include "util/range/prefix_counts.h"
#include "util/range/reach.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {
namespace {

constexpr size_t kNone = ~size_t{0};

// If all keys have one prefix, a cut there rejects what the first and the last
// key reject.
constexpr uint64_t kLeastPrefixes = 2;

// Returns where the bits of the cut begin in each sample, in bits; kNone if the
// cut does not apply to it or nothing can reject it.
std::vector<size_t> BeginningsIn(const std::vector<Reach>& reaches,
                                 const Cut& cut) {
  std::vector<size_t> beginnings;
  for (const Reach& reach : reaches) {
    const size_t begin = BeginOf(cut, reach.CommonBytes());
    const bool is_none =
        begin == std::string_view::npos || !reach.CanBeRejected();
    beginnings.push_back(is_none ? kNone : 8 * begin);
  }
  return beginnings;
}

// Returns the depths that are considered, in bits from these beginnings on: the
// deepest that apply to a sample, with one prefix and with several. A deeper
// cut rejects more of the samples that it applies to, and a shallower one is
// the deepest of some other sample, or not needed (docs/design.md has the
// measure).
std::set<size_t> FindDepths(const std::vector<Reach>& reaches,
                            const std::vector<size_t>& beginnings) {
  std::set<size_t> depths;
  for (size_t i = 0; i < reaches.size(); ++i) {
    const Reach& reach = reaches[i];
    const size_t begin = beginnings[i];
    if (begin == kNone) continue;
    if (reach.HasOnePrefix()) depths.insert(reach.common() - begin);
    depths.insert(reach.last() - begin);
  }
  return depths;
}

// Appends the cuts from this beginning on, a cut without bits, that can reject
// some of the samples.
void AppendCandidates(Cut cut, const PrefixCounts& counts,
                      const std::vector<Reach>& reaches,
                      std::vector<Candidate>* candidates) {
  const std::vector<size_t> beginnings = BeginningsIn(reaches, cut);
  for (const size_t depth : FindDepths(reaches, beginnings)) {
    const uint64_t prefixes = counts.At(depth);
    if (depth + cut.count == 0 || prefixes < kLeastPrefixes) continue;
    cut.bits = static_cast<uint16_t>(depth);
    Candidate& candidate = candidates->emplace_back();
    candidate.cut = cut;
    candidate.prefixes = prefixes;
    for (size_t i = 0; i < reaches.size(); ++i) {
      candidate.asks.push_back(beginnings[i] == kNone
                                   ? 0
                                   : reaches[i].AsksAt(beginnings[i] + depth));
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
  std::vector<Cut> beginnings{Cut()};
  for (const Cut& delimiter : FindDelimiters(samples, reaches)) {
    beginnings.push_back(delimiter);
  }
  const std::vector<PrefixCounts> counts = CountPrefixes(keys, beginnings);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < beginnings.size(); ++i) {
    AppendCandidates(beginnings[i], counts[i], reaches, &candidates);
  }
  return candidates;
}

std::vector<Candidate> FixedCandidates(const KeyStore& keys,
                                       const std::vector<Cut>& cuts) {
  std::vector<Candidate> candidates;
  const std::vector<PrefixCounts> counts = CountPrefixes(keys, cuts);
  for (size_t i = 0; i < cuts.size(); ++i) {
    const uint64_t prefixes = counts[i].At(cuts[i].bits);
    if (prefixes >= kLeastPrefixes) {
      candidates.push_back({cuts[i], prefixes, {}});
    }
  }
  return candidates;
}

}  // namespace deltabloom::internal::range
