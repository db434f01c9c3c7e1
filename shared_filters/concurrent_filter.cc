#include "deltabloom/concurrent_filter.h"

#include <cmath>
#include <sstream>
#include <stdexcept>

#include "shared_filters/atomic_bits.h"
#include "shared_filters/local_block.h"
#include "shared_filters/local_rate.h"
#include "util/coding.h"
#include "util/hash64.h"

namespace deltabloom {
namespace {

using internal::AtomicBits;
using internal::LocalSize;
using internal::LocalWords;

constexpr double kMinRate = 1e-9;
constexpr uint64_t kMaxKeys = uint64_t{1} << 40;

// Up to this size, 4 MiB, FalsePositiveRate looks at every block. Beyond, the
// chance of how keys fall on blocks moves the rate by less than half a percent
// of itself, and theory knows it as well.
constexpr uint64_t kMaxBlocksOfRate = 1 << 16;

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
  return internal::LocalSizeForRate(options.expected_keys,
                                    options.false_positive_rate);
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
        bits(filter_size.blocks * internal::kLocalBlockWords) {}

  uint32_t probes() const { return size.probes.first + size.probes.second; }

  // Of single bits, not of keys: each key sets `probes` different ones.
  double KeysThatExplain(double set_bits) const {
    const auto all = static_cast<double>(bits.bits());
    return std::log1p(-set_bits / all) /
           std::log1p(-static_cast<double>(probes()) / all);
  }

  const ConcurrentFilterOptions options;
  const LocalSize size;
  const internal::local::RateOfProbes rate;
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
  unsigned newly_set = internal::SetLocalRound(&rep_->bits, words.first, hash,
                                               0, size.probes.first);
  if (size.probes.second != 0) {
    newly_set += internal::SetLocalRound(&rep_->bits, words.second, hash, 1,
                                         size.probes.second);
  }
  rep_->keys.Add(1);
  rep_->bits.CountSet(newly_set);
  return newly_set != 0;
}

bool ConcurrentFilter::MayMatch(std::string_view key) const {
  const uint64_t hash = internal::Hash64(key);
  const LocalSize& size = rep_->size;
  const LocalWords words(hash, size.blocks);
  return internal::TestLocalRound(rep_->bits, words.first, hash, 0,
                                  size.probes.first) &&
         (size.probes.second == 0 ||
          internal::TestLocalRound(rep_->bits, words.second, hash, 1,
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
  const uint64_t blocks = rep_->size.blocks;
  const uint64_t keys = DistinctKeysEstimate();
  if (keys == UINT64_MAX) return 1;
  if (blocks > kMaxBlocksOfRate) return rep_->rate(keys, blocks);
  double sum = 0;
  for (uint64_t block = 0; block < blocks; ++block) {
    sum +=
        internal::LocalBlockRate(rep_->bits, block, blocks, rep_->size.probes);
  }
  const double by_bits = sum / static_cast<double>(blocks);
  return by_bits +
         (1 - by_bits) * internal::local::HashRate(static_cast<double>(keys),
                                                   static_cast<double>(blocks));
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
  dst->back() = static_cast<char>(internal::LocalMarker(rep_->size.probes));
}

}  // namespace deltabloom
