#include "deltabloom/concurrent_filter.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "shared_filters/atomic_bits.h"
#include "shared_filters/smallest_number.h"
#include "util/coding.h"
#include "util/hash64.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/layouts/local/local.h"

namespace deltabloom {
namespace {

using internal::AtomicBits;
namespace local = internal::local;

// The layout local (docs/format.md) in bits that other threads set meanwhile,
// in words of 64 bits: as little-endian bytes they are the payload of a filter
// of that layout.
constexpr uint64_t kLocalBlockWords = local::kBlockSize / 8;
constexpr uint32_t kLocalBlockBits = 8 * local::kBlockSize;

// Sets the bits of one round. True if some bit was clear. Branches on which
// sectors are taken, or which words lack a bit, would be mispredicted.
bool SetLocalRound(AtomicBits* bits, uint64_t block, uint64_t hash,
                   uint32_t round, uint32_t probes) {
  const uint32_t* taken = local::MasksOf(hash, probes);
  uint32_t halves[2 * kLocalBlockWords];
  for (uint32_t sector = 0; sector < local::kSectors; ++sector) {
    const uint32_t place = local::BitOf(hash, round, sector);
    const uint32_t bit = taken[sector] << place % 32;
    const uint32_t is_upper = 0 - place / (kLocalBlockBits / 2);
    halves[sector] = bit & ~is_upper;
    halves[sector + local::kSectors] = bit & is_upper;
  }
  const uint64_t first_word = block * kLocalBlockWords;
  uint64_t masks[kLocalBlockWords];
  uint64_t incomplete[kLocalBlockWords];
  unsigned count = 0;
  for (uint64_t i = 0; i < kLocalBlockWords; ++i) {
    masks[i] = halves[2 * i] | uint64_t{halves[2 * i + 1]} << 32;
    incomplete[count] = i;
    count += (masks[i] & ~bits->Word(first_word + i)) != 0 ? 1 : 0;
  }
  uint64_t newly_set = 0;
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t word = incomplete[i];
    newly_set |= bits->OrUnread(first_word + word, masks[word]);
  }
  return newly_set != 0;
}

// Are the bits of one round set? With one branch, after four probes: half of
// the bits are set, so a branch for each would be mispredicted.
bool TestLocalRound(const AtomicBits& bits, uint64_t block, uint64_t hash,
                    uint32_t round, uint32_t probes) {
  const uint64_t first_word = block * kLocalBlockWords;
  uint64_t all = 1;
  for (uint32_t probe = 0; probe < probes; ++probe) {
    if (probe == 4 && all == 0) return false;
    const uint32_t bit =
        local::BitOf(hash, round, local::SectorOf(hash, probe));
    all &= bits.Word(first_word + bit / AtomicBits::kWordBits) >>
           bit % AtomicBits::kWordBits;
  }
  return all != 0;
}

struct LocalSize {
  uint64_t blocks;  // 0: there is none
  local::Probes probes;
};

// The smallest size at which `keys` keys have a rate of at most `rate`, of 1 to
// 8 probes in one block; of 8 in each of two where that saves a twentieth of
// the bits. (Other numbers of probes in two blocks would save up to 4 % more
// between rates of 0.001 and 0.0001.) 0 blocks if none of up to 1,000 bits per
// key is enough.
LocalSize LocalSizeForRate(uint64_t keys, double rate) {
  keys = std::max<uint64_t>(keys, 1);
  const auto smallest = [&](const local::RateOfProbes& rate_at, uint64_t low,
                            uint64_t high) {
    return internal::SmallestNumber(low, high, [&](uint64_t blocks) {
      return rate_at(keys, blocks) <= rate;
    });
  };
  const auto most =
      static_cast<uint64_t>(static_cast<double>(keys) *
                            internal::kMaxBitsPerKey / kLocalBlockBits) +
      local::kApartFromBlocks;
  LocalSize best{0, {0, 0}};
  double best_rate = 1;
  for (uint32_t probes = 1; probes <= local::kSectors; ++probes) {
    const local::RateOfProbes rate_at({probes, 0});
    const uint64_t blocks =
        smallest(rate_at, 1, best.blocks == 0 ? most : best.blocks);
    if (blocks == 0) continue;
    const double its_rate = rate_at(keys, blocks);
    if (blocks == best.blocks && its_rate >= best_rate) continue;
    best = {blocks, {probes, 0}};
    best_rate = its_rate;
  }
  // A second cache line has to save a twentieth.
  const uint64_t end = best.blocks == 0 ? most : best.blocks - best.blocks / 20;
  if (end <= local::kApartFromBlocks) return best;
  const local::Probes two_lines{local::kSectors, local::kSectors};
  const uint64_t blocks = smallest(local::RateOfProbes(two_lines),
                                   local::kApartFromBlocks, end - 1);
  return blocks == 0 ? best : LocalSize{blocks, two_lines};
}

}  // namespace

std::string ConcurrentFilterOptions::Validate() const {
  // Written so that NaN fails.
  if (!(false_positive_rate >= 1e-9 && false_positive_rate < 1)) {
    return "false_positive_rate = " +
           internal::NumberText(false_positive_rate) +
           " is out of range: use 1e-9 or more and less than 1";
  }
  if (expected_keys > uint64_t{1} << 40) {
    return "expected_keys = " + std::to_string(expected_keys) +
           " is out of range: use up to 2^40, or several filters";
  }
  return {};
}

struct ConcurrentFilter::Rep {
  explicit Rep(const ConcurrentFilterOptions& filter_options)
      : options(filter_options),
        size(LocalSizeForRate(options.expected_keys,
                              options.false_positive_rate)),
        rate(size.probes),
        bits(size.blocks * kLocalBlockWords) {}

  uint32_t probes() const { return size.probes.first + size.probes.second; }

  const ConcurrentFilterOptions options;
  const LocalSize size;
  const local::RateOfProbes rate;
  AtomicBits bits;
  internal::StripedCounter keys;
};

ConcurrentFilter::ConcurrentFilter(const ConcurrentFilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(options);
}

ConcurrentFilter::~ConcurrentFilter() = default;

bool ConcurrentFilter::Add(std::string_view key) {
  const uint64_t hash = internal::Hash64(key);
  const auto& [blocks, probes] = rep_->size;
  const uint64_t block = local::BlockOf(hash, blocks);
  bool changed = SetLocalRound(&rep_->bits, block, hash, 0, probes.first);
  if (probes.second != 0) {
    changed |= SetLocalRound(&rep_->bits, local::NextBlock(block, blocks), hash,
                             1, probes.second);
  }
  rep_->keys.Add(1);
  return changed;
}

bool ConcurrentFilter::MayMatch(std::string_view key) const {
  const uint64_t hash = internal::Hash64(key);
  const auto& [blocks, probes] = rep_->size;
  const uint64_t block = local::BlockOf(hash, blocks);
  return TestLocalRound(rep_->bits, block, hash, 0, probes.first) &&
         (probes.second == 0 ||
          TestLocalRound(rep_->bits, local::NextBlock(block, blocks), hash, 1,
                         probes.second));
}

uint64_t ConcurrentFilter::KeysAdded() const { return rep_->keys.Sum(); }

uint64_t ConcurrentFilter::DistinctKeysEstimate() const {
  // Of single bits, not of keys: each key sets `probes` different ones.
  const auto all = static_cast<double>(rep_->bits.bits());
  const auto set = static_cast<double>(rep_->bits.SetBits());
  const double probes = rep_->probes();
  const double keys = std::log1p(-set / all) / std::log1p(-probes / all);
  return std::isfinite(keys) ? static_cast<uint64_t>(std::llround(keys))
                             : UINT64_MAX;
}

uint64_t ConcurrentFilter::ExpectedKeys() const {
  return rep_->options.expected_keys;
}

double ConcurrentFilter::ExpectedRate() const {
  return rep_->options.false_positive_rate;
}

double ConcurrentFilter::FalsePositiveRate() const {
  const uint64_t keys = DistinctKeysEstimate();
  return keys == UINT64_MAX ? 1 : rep_->rate(keys, rep_->size.blocks);
}

BloomSize ConcurrentFilter::Size() const {
  return {rep_->bits.bits(), rep_->probes()};
}

void ConcurrentFilter::AppendTo(std::string* dst) const {
  const size_t start = dst->size();
  const uint64_t words = rep_->bits.words();
  dst->resize(start + words * sizeof(uint64_t) + 1);
  char* to = &(*dst)[start];
  for (uint64_t i = 0; i < words; ++i) {
    internal::StoreFixed64(to + 8 * i, rep_->bits.Word(i));
  }
  const uint8_t kind =
      rep_->size.probes.second == 0 ? local::kOneBlock : local::kTwoBlocks;
  dst->back() = static_cast<char>(kind + rep_->probes());
}

}  // namespace deltabloom
