// The false-positive rate of local filters: expected, and estimated from a
// filter's bits. tests/util/rate_test.cc compares both with filters.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "util/coding.h"
#include "util/layouts/layout.h"
#include "util/layouts/local/local.h"
#include "util/parsed_filter.h"
#include "util/rates/rates.h"

namespace deltabloom::internal::local {
namespace {

constexpr double kMissOfSector = 63.0 / 64;  // a key's bit there is another

// The number of sectors of a set that the probes of a key take, for each of the
// 8 places where a key's probes may begin.
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

// Sets of sectors that an absent key tests in one block, by what the two
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

template <typename... Sets>
double Miss(const Sets&... sets) {
  double sum = 0;
  for (unsigned place = 0; place < kSectors; ++place) {
    sum += std::pow(kMissOfSector, (sets[place] + ...));
  }
  return sum / kSectors;
}

// Returns in how many of the blocks, on average, a key sets a bit of a set.
double TouchedBlocks(const SetClass& in_first, const SetClass& in_second,
                     uint64_t blocks) {
  // Keys of the same block as the absent key, of the previous and of the next
  // block; these two are one block of two, and all three the same single block.
  if (blocks == 1) {
    return 1 - Miss(in_first.same_round, in_first.other_round,
                    in_second.same_round, in_second.other_round);
  }
  const double same = 1 - Miss(in_first.same_round, in_second.same_round);
  if (blocks == 2) {
    return same + 1 - Miss(in_first.other_round, in_second.other_round);
  }
  return same + (1 - Miss(in_first.other_round)) +
         (1 - Miss(in_second.other_round));
}

// The rates of one number of probes, of which some take tens of microseconds
// to compute, as a table: of filters with many blocks it is a smooth function
// of the keys per block, less a share in inverse proportion to the blocks.
class RateTable {
 public:
  RateTable(uint32_t first, uint32_t second, uint64_t blocks)
      : exact_(first, second, blocks), apart_(blocks >= kApartFromBlocks) {
    for (size_t i = 0; apart_ && i < kPoints; ++i) {
      const double keys_per_block =
          std::exp2(kFirst + static_cast<double>(i) * kStep);
      many_[i] = LogRate(keys_per_block, kMany);
      slope_[i] = (LogRate(keys_per_block, kFew) - many_[i]) * kFew;
    }
  }

  double operator()(uint64_t keys, uint64_t blocks) const {
    const double place =
        (std::log2(static_cast<double>(keys) / static_cast<double>(blocks)) -
         kFirst) /
        kStep;
    if (!apart_ || blocks < kLeastBlocks || !(place >= 1) ||
        place >= kPoints - 2) {
      return exact_(keys, blocks);
    }
    const auto point = static_cast<size_t>(place);
    const double way = place - static_cast<double>(point);
    return std::exp(Between(many_, point, way) +
                    Between(slope_, point, way) / static_cast<double>(blocks));
  }

 private:
  // Smaller filters are computed exactly; from here on the share that is in
  // inverse proportion to the blocks is the only difference to many blocks.
  static constexpr uint64_t kLeastBlocks = 8;
  // The two numbers of blocks at which rates are computed for the table.
  static constexpr double kFew = 32;
  static constexpr double kMany = 1099511627776;  // 2^40: in effect infinite
  // Rates are sampled at these keys per block: powers of two, a quarter apart,
  // up to 2^(-1.5 + 37 / 4) = 2^7.75 = 215.
  static constexpr double kFirst = -1.5;
  static constexpr double kStep = 0.25;
  static constexpr size_t kPoints = 38;
  using Points = std::array<double, kPoints>;

  double LogRate(double keys_per_block, double blocks) const {
    return std::log(exact_.At(keys_per_block * blocks, blocks));
  }

  // The cubic through the points beside and one further (Lagrange).
  static double Between(const Points& points, size_t i, double way) {
    const double before = points[i - 1], left = points[i];
    const double right = points[i + 1], after = points[i + 2];
    const double to_right = 1 - way;
    return -before * way * to_right * (1 + to_right) / 6 +
           left * (1 + way) * to_right * (1 + to_right) / 2 +
           right * (1 + way) * way * (1 + to_right) / 2 -
           after * (1 + way) * way * to_right / 6;
  }

  RateOfProbes exact_;
  bool apart_;
  Points many_;
  Points slope_;
};

constexpr uint64_t kMostBlocks = 128;
constexpr unsigned kBlockBits = kBlockSize * 8;
constexpr unsigned kSectorBits = kBlockBits / kSectors;

// The set bits of each sector.
struct Counts {
  explicit Counts(const unsigned char* block) {
    for (uint32_t i = 0; i < kSectors; ++i) {
      const uint64_t sector = LoadFixed32(block + 4 * i) |
                              uint64_t{LoadFixed32(block + 4 * (i + kSectors))}
                                  << 32;
      of[i] = static_cast<unsigned>(__builtin_popcountll(sector));
      sum += of[i];
    }
  }

  unsigned of[kSectors];
  unsigned sum = 0;
};

// The share of keys whose bits of one round are all set, of those whose sectors
// begin at `place`.
double RoundRate(const Counts& counts, uint32_t place, uint32_t probes) {
  const uint32_t* taken = &kSectorMasks.row[probes][place];
  double rate = 1;
  for (uint32_t i = 0; i < kSectors; ++i) {
    if (taken[i] != 0) rate *= counts.of[i] / double{kSectorBits};
  }
  return rate;
}

}  // namespace

RateOfProbes::RateOfProbes(uint32_t first, uint32_t second, uint64_t blocks) {
  std::map<int64_t, Term> terms;
  for (const auto& [in_first, n] : ClassesOf(first, second)) {
    for (const auto& [in_second, m] : ClassesOf(second, first)) {
      const double c = TouchedBlocks(in_first, in_second, blocks);
      Term& term = terms[std::llround(std::ldexp(c, 40))];
      term.weight += n * m;
      term.c = c;
    }
  }
  for (const auto& [rounded, term] : terms) {
    if (term.weight != 0) terms_.push_back(term);
  }
}

template <typename Real>
double RateOfProbes::RateByBits(Real keys, Real blocks) const {
  Real rate = 0;
  for (const Term& term : terms_) {
    rate += static_cast<Real>(term.weight) *
            std::exp(keys * std::log1p(-static_cast<Real>(term.c) / blocks));
  }
  return std::clamp(static_cast<double>(rate), 0.0, 1.0);
}

double RateOfProbes::At(double keys, double blocks) const {
  // Large terms of both signs make a small sum, so that a small one needs more
  // digits, which cost five times the time.
  constexpr double kSmall = 1e-6;
  double by_bits = RateByBits(keys, blocks);
  if (by_bits < kSmall) {
    by_bits = RateByBits(static_cast<long double>(keys),
                         static_cast<long double>(blocks));
  }
  // The chance that a key has the very bits of another in its block: of the 64
  // bits of its hash, 35 choose them.
  const double by_hash = -std::expm1(-std::ldexp(keys / blocks, -35));
  return by_bits + (1 - by_bits) * by_hash;
}

double Rate(const AnyShape& any_shape, uint64_t keys) {
  // Each table is made at its first use, in some milliseconds, and never
  // destroyed: policies may outlive static objects.
  struct Entry {
    std::once_flag once;
    std::unique_ptr<RateTable> table;
  };
  static auto* const entries =
      new Entry[kSectors + 1][kSectors + 1][kApartFromBlocks + 1];
  const Shape& shape = any_shape.As<Shape>();
  // Blocks count only up to kApartFromBlocks, and not at all with one round.
  const uint64_t apart = shape.second == 0
                             ? kApartFromBlocks
                             : std::min(shape.blocks, kApartFromBlocks);
  Entry& entry = entries[shape.first][shape.second][apart];
  std::call_once(entry.once, [&] {
    entry.table = std::make_unique<RateTable>(shape.first, shape.second, apart);
  });
  return (*entry.table)(keys, shape.blocks);
}

// Reads at most 128 blocks, spread evenly, and the block after each of them if
// keys have two blocks. The number of keys comes from the share of set bits
// (KeysFromSetBits): at 10 bits per key it has a standard error of 1.2 %. The
// rate is the mean of what each of these blocks answers to all keys that fall
// on it: a standard error of 6 % at 10 bits per key, of 10 % at 20. Smaller
// filters are read whole. Their rate is exact, except that the bits of a key
// within a block are assumed to be independent.
ContentEstimate EstimateContent(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  const uint64_t sampled = std::min(shape.blocks, kMostBlocks);
  uint64_t set = 0;
  double rate = 0;
  for (uint64_t i = 0; i < sampled; ++i) {
    // i * blocks / sampled without overflow.
    const uint64_t block =
        shape.blocks / sampled * i + shape.blocks % sampled * i / sampled;
    const Counts first(parsed.payload + block * kBlockSize);
    const Counts second(
        shape.second == 0
            ? first
            : Counts(parsed.payload +
                     NextBlock(block, shape.blocks) * kBlockSize));
    set += first.sum;
    for (uint32_t place = 0; place < kSectors; ++place) {
      rate += RoundRate(first, place, shape.first) *
              RoundRate(second, place, shape.second);
    }
  }
  const auto count = static_cast<double>(sampled);
  // A key sets the same number of bits per block whichever blocks those are.
  const double most_set = count * kBlockBits - 0.5;  // not infinitely many keys
  const double keys = KeysFromSetBits(
      count * kBlockBits, std::min(static_cast<double>(set), most_set),
      shape.first + shape.second);
  return {keys * static_cast<double>(shape.blocks) / count,
          rate / (count * kSectors)};
}

}  // namespace deltabloom::internal::local
