#include "deltabloom/concurrent_filter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "deltabloom/sizing.h"
#include "shared_filters/memory/atomic_bits.h"
#include "shared_filters/memory/local_size.h"
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
constexpr uint64_t kLocalBlockBits = local::kBlockSize * 8;

// True if all bits of one round are set. It branches once, after four probes:
// half of the bits are set, so a branch for each would be mispredicted.
bool TestLocalRound(const AtomicBits& bits, uint64_t block, uint64_t hash,
                    uint32_t round, uint32_t probes) {
  uint64_t all = 1;
  for (uint32_t probe = 0; probe < probes; ++probe) {
    if (probe == 4 && all == 0) return false;
    const uint64_t bit =
        block * kLocalBlockBits + local::BitOf(hash, round, probe);
    all &=
        bits.Word(bit / AtomicBits::kWordBits) >> bit % AtomicBits::kWordBits;
  }
  return all != 0;
}

// Sets the bits of one round. True if some bit was clear. A branch for each bit
// would be mispredicted; one for all leaves the cache line shared when the key
// was added before.
bool SetLocalRound(AtomicBits* bits, uint64_t block, uint64_t hash,
                   uint32_t round, uint32_t probes) {
  if (TestLocalRound(*bits, block, hash, round, probes)) return false;
  for (uint32_t probe = 0; probe < probes; ++probe) {
    const uint64_t bit =
        block * kLocalBlockBits + local::BitOf(hash, round, probe);
    bits->Or(bit / AtomicBits::kWordBits,
             uint64_t{1} << bit % AtomicBits::kWordBits);
  }
  return true;
}

// The least false-positive rate. Two blocks of 8 probes each reach it with 64
// bits per key; a tenth of it would take 150.
constexpr double kLeastRate = 1e-9;

// 1 to 8 probes in one block, or 8 in each of two where that saves a twentieth
// of the bits. (Other numbers of probes in two blocks would save up to 4 % more
// between rates of 0.001 and 0.0001.) At most 1,000 bits per key.
local::Shape SizeFor(uint64_t keys, double rate) {
  keys = std::max<uint64_t>(keys, 1);
  const auto most = static_cast<uint64_t>(static_cast<double>(keys) *
                                          internal::kMaxBitsPerKey /
                                          (8 * local::kBlockSize)) +
                    local::kApartFromBlocks;
  const internal::LocalSize one = internal::SmallestLocalSize(
      keys, rate, most, [](double its_rate, uint32_t) { return its_rate; });
  const uint64_t end = one.blocks == 0 ? most : one.blocks - one.blocks / 20;
  const local::RateOfProbes rate_of(local::kSectors, local::kSectors);
  const uint64_t blocks = internal::SmallestNumber(
      local::kApartFromBlocks, end - 1,
      [&](uint64_t n) { return rate_of(keys, n) <= rate; });
  if (blocks == 0) return {one.blocks, one.probes, 0};
  return {blocks, local::kSectors, local::kSectors};
}

}  // namespace

std::string ConcurrentFilterOptions::Validate() const {
  // Written so that NaN fails.
  if (!(false_positive_rate >= kLeastRate && false_positive_rate < 1)) {
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
  explicit Rep(const ConcurrentFilterOptions& given) : options(given) {}

  uint32_t probes() const { return shape.first + shape.second; }

  const ConcurrentFilterOptions options;
  const local::Shape shape =
      SizeFor(options.expected_keys, options.false_positive_rate);
  const local::RateOfProbes rate{shape.first, shape.second};
  AtomicBits bits{shape.blocks * kLocalBlockBits / AtomicBits::kWordBits};
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
  const auto& [blocks, first, second] = rep_->shape;
  const uint64_t block = local::BlockOf(hash, blocks);
  bool changed = SetLocalRound(&rep_->bits, block, hash, 0, first);
  changed |= SetLocalRound(&rep_->bits, local::NextBlock(block, blocks), hash,
                           1, second);
  rep_->keys.Add(1);
  return changed;
}

bool ConcurrentFilter::MayMatch(std::string_view key) const {
  const uint64_t hash = internal::Hash64(key);
  const auto& [blocks, first, second] = rep_->shape;
  const uint64_t block = local::BlockOf(hash, blocks);
  return TestLocalRound(rep_->bits, block, hash, 0, first) &&
         (second == 0 ||
          TestLocalRound(rep_->bits, local::NextBlock(block, blocks), hash, 1,
                         second));
}

uint64_t ConcurrentFilter::KeysAdded() const { return rep_->keys.Sum(); }

uint64_t ConcurrentFilter::DistinctKeysEstimate() const {
  // Each key leaves a bit clear with probability 1 - probes / all, because it
  // sets `probes` different bits.
  const auto all = static_cast<double>(rep_->bits.bits());
  const auto set = static_cast<double>(rep_->bits.SetBits());
  const double probes = rep_->probes();
  const double keys = std::log1p(-set / all) / std::log1p(-probes / all);
  return std::isfinite(keys) ? static_cast<uint64_t>(std::llround(keys))
                             : UINT64_MAX;
}

bool ConcurrentFilter::IsOverfull() const {
  return KeysAdded() > rep_->options.expected_keys;
}

double ConcurrentFilter::FalsePositiveRate() const {
  const uint64_t keys = DistinctKeysEstimate();
  return keys == UINT64_MAX ? 1 : rep_->rate(keys, rep_->shape.blocks);
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
      rep_->shape.second == 0 ? local::kOneBlock : local::kTwoBlocks;
  dst->back() = static_cast<char>(kind + rep_->probes());
}

}  // namespace deltabloom
