#include "util/range/bit_division.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "util/range/passing.h"
#include "util/range/patterns.h"
#include "util/range/prefixes_of_range.h"
#include "util/range/prefixes_writer.h"

namespace deltabloom::internal::range {
namespace {

// How much weight passes so far, by the prefixes that it asks a cut for.
using PassingByPrefixes = std::array<double, kMaxPrefixesPerRange + 1>;

// Returns how much of this weight one more bit keeps from passing.
double RejectedByNextBit(const PassingByPrefixes& passing, unsigned bits) {
  double rejected = 0;
  for (unsigned m = 1; m < passing.size(); ++m) {
    rejected += passing[m] * (1 - Passing(m, bits + 1) / Passing(m, bits));
  }
  return rejected;
}

}  // namespace

double FilterSizes::BytesOf(size_t candidate, unsigned bits) {
  std::vector<double>& bytes = bytes_[candidate];
  if (bytes.empty()) bytes.push_back(0);
  while (bytes.size() <= bits) {
    const auto next = static_cast<unsigned>(bytes.size());
    bytes.push_back(
        static_cast<double>(BytesOfCut(candidates_[candidate].prefixes, next)));
  }
  return bytes[bits];
}

Division DivideBytes(const std::vector<size_t>& set,
                     const std::vector<Pattern>& patterns, double bytes,
                     double enough, std::vector<unsigned> bits,
                     FilterSizes* sizes) {
  std::vector<double> passing;  // of each pattern
  double all = 0, all_passing = 0;
  for (const Pattern& pattern : patterns) {
    double& passes = passing.emplace_back(pattern.weight);
    for (size_t i = 0; i < set.size(); ++i) {
      passes *= Passing(pattern.asks[i], bits[i]);
    }
    all += pattern.weight;
    all_passing += passes;
  }
  while (all_passing > enough * all) {
    size_t best = 0;
    double best_cost = 0;  // in bytes
    double best_gain = 0;  // per byte
    for (size_t i = 0; i < set.size(); ++i) {
      if (bits[i] == kMaxBits) continue;
      const double cost =
          sizes->BytesOf(set[i], bits[i] + 1) - sizes->BytesOf(set[i], bits[i]);
      if (cost > bytes) continue;
      PassingByPrefixes by_prefixes = {};
      for (size_t p = 0; p < patterns.size(); ++p) {
        by_prefixes[patterns[p].asks[i]] += passing[p];
      }
      // Sizes are rounded to words, so a bit can be free.
      const double gain =
          RejectedByNextBit(by_prefixes, bits[i]) / std::max(cost, 1.0 / 8);
      if (gain <= best_gain) continue;
      best = i;
      best_cost = cost;
      best_gain = gain;
    }
    if (best_gain == 0) break;
    all_passing = 0;
    for (size_t p = 0; p < patterns.size(); ++p) {
      const uint8_t m = patterns[p].asks[best];
      passing[p] *= Passing(m, bits[best] + 1) / Passing(m, bits[best]);
      all_passing += passing[p];
    }
    bytes -= best_cost;
    ++bits[best];
  }
  return {std::move(bits), all_passing, bytes};
}

}  // namespace deltabloom::internal::range
