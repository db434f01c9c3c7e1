#include "shared_filters/local_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace deltabloom::internal {
namespace {

constexpr unsigned kSectors = 8;
constexpr unsigned kBlockBits = 512;
constexpr unsigned kHashBitsInBlock = 35;
constexpr double kMissOfSector = 63.0 / 64;  // a key's bit there is another
constexpr double kMaxBitsPerKey = 1000;
constexpr uint64_t kMinBlocksOfTwo = 3;  // see LocalRate

// How many sectors of a set the probes of a key take, for each of the 8 places
// where a key's probes may begin.
using Overlaps = std::array<unsigned, kSectors>;

Overlaps OverlapsOf(unsigned set, unsigned probes) {
  Overlaps overlaps{};
  for (unsigned place = 0; place < kSectors; ++place) {
    for (unsigned probe = 0; probe < probes; ++probe) {
      overlaps[place] += set >> ((place + probe) % kSectors) & 1;
    }
  }
  return overlaps;
}

// Sets of sectors that an absent key asks for in one block, by what the two
// rounds of a stored key take of them.
struct SetClass {
  Overlaps same_round;
  Overlaps other_round;
  bool operator<(const SetClass& other) const {
    return same_round != other.same_round ? same_round < other.same_round
                                          : other_round < other.other_round;
  }
};

// Each class with the number of its sets, even ones less odd ones.
std::map<SetClass, double> ClassesOf(unsigned same, unsigned other) {
  std::map<SetClass, double> classes;
  for (unsigned set = 0; set < 1u << same; ++set) {
    const bool odd = __builtin_popcount(set) % 2 != 0;
    classes[{OverlapsOf(set, same), OverlapsOf(set, other)}] += odd ? -1 : 1;
  }
  return classes;
}

double Miss(const Overlaps& a, const Overlaps& b) {
  double sum = 0;
  for (unsigned place = 0; place < kSectors; ++place) {
    sum += std::pow(kMissOfSector, a[place] + b[place]);
  }
  return sum / kSectors;
}

// The smallest number of blocks in [low, high] at which the rate is met, or 0.
uint64_t SmallestBlocks(const LocalRate& rate_at, uint64_t keys, double rate,
                        uint64_t low, uint64_t high) {
  const auto fits = [&](uint64_t blocks) {
    return rate_at(keys, blocks) <= rate;
  };
  // Mostly a little more than a Bloom filter, so not from the middle.
  uint64_t end = low;
  while (!fits(end)) {
    if (end == high) return 0;
    low = end + 1;
    end = std::min(high, end + end / 4 + 1);
  }
  while (low < end) {
    const uint64_t middle = low + (end - low) / 2;
    if (fits(middle)) {
      end = middle;
    } else {
      low = middle + 1;
    }
  }
  return end;
}

}  // namespace

LocalRate::LocalRate(LocalProbes probes) {
  constexpr Overlaps kNone{};
  std::map<int64_t, Term> terms;
  for (const auto& [in_first, n] : ClassesOf(probes.first, probes.second)) {
    for (const auto& [in_second, m] : ClassesOf(probes.second, probes.first)) {
      // Keys of the same block, of the one in front, of the one behind.
      const double c = (1 - Miss(in_first.same_round, in_second.same_round)) +
                       (1 - Miss(in_first.other_round, kNone)) +
                       (1 - Miss(in_second.other_round, kNone));
      Term& term = terms[std::llround(std::ldexp(c, 40))];
      term.weight += n * m;
      term.c = c;
    }
  }
  for (const auto& [rounded, term] : terms) {
    if (term.weight != 0) terms_.push_back(term);
  }
}

double LocalRate::operator()(uint64_t keys, uint64_t blocks) const {
  // Large terms of both signs make a small sum.
  long double rate = 0;
  for (const Term& term : terms_) {
    rate +=
        term.weight * std::exp(static_cast<long double>(keys) *
                               std::log1p(-static_cast<long double>(term.c) /
                                          static_cast<long double>(blocks)));
  }
  const double by_bits = std::clamp(static_cast<double>(rate), 0.0, 1.0);
  return by_bits +
         (1 - by_bits) * LocalHashRate(static_cast<double>(keys), blocks);
}

LocalSize LocalSizeForRate(uint64_t keys, double rate) {
  keys = std::max<uint64_t>(keys, 1);
  const auto most = static_cast<uint64_t>(static_cast<double>(keys) *
                                          kMaxBitsPerKey / kBlockBits) +
                    kMinBlocksOfTwo;
  LocalSize best{0, {0, 0}};
  double best_rate = 1;
  for (uint32_t probes = 1; probes <= kSectors; ++probes) {
    const LocalRate rate_at({probes, 0});
    const uint64_t end = best.blocks == 0 ? most : best.blocks;
    const uint64_t blocks = SmallestBlocks(rate_at, keys, rate, 1, end);
    if (blocks == 0) continue;
    const double its_rate = rate_at(keys, blocks);
    if (blocks == best.blocks && its_rate >= best_rate) continue;
    best = {blocks, {probes, 0}};
    best_rate = its_rate;
  }
  // A second cache line has to save a twentieth.
  const uint64_t end = best.blocks == 0 ? most : best.blocks - best.blocks / 20;
  if (end <= kMinBlocksOfTwo) return best;
  const LocalProbes two_lines{kSectors, kSectors};
  const uint64_t blocks = SmallestBlocks(LocalRate(two_lines), keys, rate,
                                         kMinBlocksOfTwo, end - 1);
  return blocks == 0 ? best : LocalSize{blocks, two_lines};
}

double LocalHashRate(double keys, uint64_t blocks) {
  return -std::expm1(-std::ldexp(keys / static_cast<double>(blocks),
                                 -static_cast<int>(kHashBitsInBlock)));
}

}  // namespace deltabloom::internal
