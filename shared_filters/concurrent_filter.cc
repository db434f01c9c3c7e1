#include "deltabloom/concurrent_filter.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "shared_filters/atomic_bits.h"
#include "util/coding.h"
#include "util/hash64.h"
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
constexpr uint64_t kLocalBlockBits = kLocalBlockWords * AtomicBits::kWordBits;

// Of a probe: the word of its block, and the bit in it.
struct LocalPlace {
  uint64_t word;
  unsigned bit;
};

LocalPlace LocalPlaceOf(uint64_t hash, uint32_t round, uint32_t probe) {
  const uint32_t bit = local::BitOf(hash, round, local::SectorOf(hash, probe));
  return {bit / AtomicBits::kWordBits,
          bit % static_cast<unsigned>(AtomicBits::kWordBits)};
}

// The bits of one round in the words of its block. All sectors, taken or not:
// faster than a store for each probe.
struct LocalRoundMasks {
  LocalRoundMasks(uint64_t hash, uint32_t round, uint32_t probes) {
    constexpr uint32_t kHalf = kLocalBlockWords / 2;
    const uint32_t* taken = local::MasksOf(hash, probes);
    for (uint32_t i = 0; i < kHalf; ++i) {
      word[i] = 0;
      word[kHalf + i] = 0;
      for (uint32_t sector = 2 * i; sector <= 2 * i + 1; ++sector) {
        const uint32_t place = local::BitOf(hash, round, sector);
        const uint64_t bit = uint64_t{taken[sector]}
                             << place % AtomicBits::kWordBits;
        const uint64_t in_upper =
            0 - uint64_t{place / (kHalf * AtomicBits::kWordBits)};
        word[i] |= bit & ~in_upper;
        word[kHalf + i] |= bit & in_upper;
      }
    }
  }
  uint64_t word[kLocalBlockWords];
};

// A key's blocks: the first word of each.
struct LocalWords {
  LocalWords(uint64_t hash, uint64_t blocks) {
    const uint64_t block = local::BlockOf(hash, blocks);
    first = block * kLocalBlockWords;
    second = local::NextBlock(block, blocks) * kLocalBlockWords;
  }
  uint64_t first;
  uint64_t second;
};

// Sets the bits of one round. True if some bit was clear. Branches on which
// words have a bit, or lack one, would be mispredicted.
bool SetLocalRound(AtomicBits* bits, uint64_t first_word, uint64_t hash,
                   uint32_t round, uint32_t probes) {
  const LocalRoundMasks masks(hash, round, probes);
  uint64_t incomplete[kLocalBlockWords];
  unsigned count = 0;
  for (uint64_t i = 0; i < kLocalBlockWords; ++i) {
    incomplete[count] = i;
    count += (masks.word[i] & ~bits->Word(first_word + i)) != 0 ? 1 : 0;
  }
  uint64_t newly_set = 0;
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t word = incomplete[i];
    newly_set |= bits->OrUnread(first_word + word, masks.word[word]);
  }
  return newly_set != 0;
}

// Are the bits of probes begin .. end - 1 of one round set? Without a branch
// between them: half of the bits are set, so each would be mispredicted.
bool TestLocalProbes(const AtomicBits& bits, uint64_t first_word, uint64_t hash,
                     uint32_t round, uint32_t begin, uint32_t end) {
  uint64_t all = 1;
  for (uint32_t probe = begin; probe < end; ++probe) {
    const LocalPlace place = LocalPlaceOf(hash, round, probe);
    all &= bits.Word(first_word + place.word) >> place.bit;
  }
  return all != 0;
}

bool TestLocalRound(const AtomicBits& bits, uint64_t first_word, uint64_t hash,
                    uint32_t round, uint32_t probes) {
  constexpr uint32_t kFirstProbes = 4;
  const uint32_t few = probes < kFirstProbes ? probes : kFirstProbes;
  return TestLocalProbes(bits, first_word, hash, round, 0, few) &&
         TestLocalProbes(bits, first_word, hash, round, few, probes);
}

// The last byte of a filter with these probes.
uint8_t LocalMarker(local::Probes probes) {
  return static_cast<uint8_t>(
      (probes.second == 0 ? local::kOneBlock : local::kTwoBlocks) +
      probes.first + probes.second);
}

struct LocalSize {
  uint64_t blocks;  // 0: there is none
  local::Probes probes;
};

// For one formula at all sizes.
constexpr uint64_t kMinBlocksOfTwo = local::kApartFromBlocks;

// The smallest number of blocks in [low, high] at which the rate is met, or 0.
uint64_t SmallestBlocks(const local::RateOfProbes& rate_at, uint64_t keys,
                        double rate, uint64_t low, uint64_t high) {
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

// The smallest size at which `keys` keys have a rate of at most `rate`, of 1 to
// 8 probes in one block; of 8 in each of two where that saves a twentieth of
// the bits. (Other numbers of probes in two blocks would save up to 4 % more
// between rates of 0.001 and 0.0001.) 0 blocks if none of up to 1,000 bits per
// key is enough.
LocalSize LocalSizeForRate(uint64_t keys, double rate) {
  keys = std::max<uint64_t>(keys, 1);
  const auto most =
      static_cast<uint64_t>(static_cast<double>(keys) *
                            internal::kMaxBitsPerKey / kLocalBlockBits) +
      kMinBlocksOfTwo;
  LocalSize best{0, {0, 0}};
  double best_rate = 1;
  for (uint32_t probes = 1; probes <= local::kSectors; ++probes) {
    const local::RateOfProbes rate_at({probes, 0});
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
  const local::Probes two_lines{local::kSectors, local::kSectors};
  const uint64_t blocks = SmallestBlocks(local::RateOfProbes(two_lines), keys,
                                         rate, kMinBlocksOfTwo, end - 1);
  return blocks == 0 ? best : LocalSize{blocks, two_lines};
}

constexpr double kMinRate = 1e-9;
constexpr uint64_t kMaxKeys = uint64_t{1} << 40;

// The size for these options; none, and *error says why, if there is none.
LocalSize SizeFor(const ConcurrentFilterOptions& options, std::string* error) {
  std::ostringstream rate;
  rate.precision(17);
  rate << "false_positive_rate = " << options.false_positive_rate;
  // Written so that NaN fails.
  if (!(options.false_positive_rate >= kMinRate &&
        options.false_positive_rate < 1)) {
    *error = rate.str() + " is out of range: use 1e-9 or more and less than 1";
    return {};
  }
  if (options.expected_keys > kMaxKeys) {
    *error = "expected_keys = " + std::to_string(options.expected_keys) +
             " is out of range: use up to 2^40, or several filters";
    return {};
  }
  return LocalSizeForRate(options.expected_keys, options.false_positive_rate);
}

}  // namespace

std::string ConcurrentFilterOptions::Validate() const {
  std::string error;
  SizeFor(*this, &error);
  return error;
}

struct ConcurrentFilter::Rep {
  Rep(const ConcurrentFilterOptions& filter_options,
      const LocalSize& filter_size)
      : options(filter_options),
        size(filter_size),
        rate(filter_size.probes),
        bits(filter_size.blocks * kLocalBlockWords) {}

  uint32_t probes() const { return size.probes.first + size.probes.second; }

  // Of single bits, not of keys: each key sets `probes` different ones.
  double KeysThatExplain(double set_bits) const {
    const auto all = static_cast<double>(bits.bits());
    return std::log1p(-set_bits / all) /
           std::log1p(-static_cast<double>(probes()) / all);
  }

  const ConcurrentFilterOptions options;
  const LocalSize size;
  const local::RateOfProbes rate;
  AtomicBits bits;
  internal::StripedCounter keys;
};

ConcurrentFilter::ConcurrentFilter(const ConcurrentFilterOptions& options) {
  std::string error;
  const LocalSize size = SizeFor(options, &error);
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(options, size);
}

ConcurrentFilter::~ConcurrentFilter() = default;

bool ConcurrentFilter::Add(std::string_view key) {
  const uint64_t hash = internal::Hash64(key);
  const LocalSize& size = rep_->size;
  const LocalWords words(hash, size.blocks);
  bool changed =
      SetLocalRound(&rep_->bits, words.first, hash, 0, size.probes.first);
  if (size.probes.second != 0) {
    changed |=
        SetLocalRound(&rep_->bits, words.second, hash, 1, size.probes.second);
  }
  rep_->keys.Add(1);
  return changed;
}

bool ConcurrentFilter::MayMatch(std::string_view key) const {
  const uint64_t hash = internal::Hash64(key);
  const LocalSize& size = rep_->size;
  const LocalWords words(hash, size.blocks);
  return TestLocalRound(rep_->bits, words.first, hash, 0, size.probes.first) &&
         (size.probes.second == 0 ||
          TestLocalRound(rep_->bits, words.second, hash, 1,
                         size.probes.second));
}

uint64_t ConcurrentFilter::KeysAdded() const { return rep_->keys.Sum(); }

uint64_t ConcurrentFilter::DistinctKeysEstimate() const {
  const double keys =
      rep_->KeysThatExplain(static_cast<double>(rep_->bits.SetBits()));
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
  dst->back() = static_cast<char>(LocalMarker(rep_->size.probes));
}

}  // namespace deltabloom
