#include "deltabloom/concurrent_filter.h"

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "table/framing.h"
#include "util/coding.h"
#include "util/false_positive.h"
#include "util/hash.h"

namespace deltabloom {
namespace {

constexpr uint64_t kWordBits = 64;
constexpr unsigned kHashBits = 32;
constexpr uint64_t kMaxBits = uint64_t{1} << kHashBits;

// Threads count in different cache lines, so that adding does not serialise
// them on one.
constexpr size_t kCounters = 16;

struct alignas(64) Counter {
  std::atomic<uint64_t> keys{0};
  std::atomic<uint64_t> set_bits{0};
};

size_t CounterOfThisThread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t mine =
      threads.fetch_add(1, std::memory_order_relaxed) % kCounters;
  return mine;
}

// hash % divisor without a division, for divisors of up to 2^32.
class Modulo {
 public:
  explicit Modulo(uint64_t divisor)
      : divisor_(divisor), reciprocal_(kMaxBits / divisor) {}

  uint64_t operator()(uint32_t hash) const {
    // The quotient is exact or one too small.
    const uint64_t remainder =
        hash - (uint64_t{hash} * reciprocal_ >> kHashBits) * divisor_;
    return remainder >= divisor_ ? remainder - divisor_ : remainder;
  }

 private:
  uint64_t divisor_;
  uint64_t reciprocal_;
};

double HashRate(uint64_t keys) {
  return internal::HashCollisionRate(static_cast<double>(keys), kHashBits);
}

// The size of the bit array alone, without what the hash costs.
BloomSize SizeOf(const ConcurrentFilterOptions& options) {
  BloomSize size =
      SizeForRate(options.expected_keys, options.false_positive_rate -
                                             HashRate(options.expected_keys));
  size.bits = (size.bits + kWordBits - 1) / kWordBits * kWordBits;
  return size;
}

}  // namespace

std::string ConcurrentFilterOptions::Validate() const {
  const std::string rate =
      "false_positive_rate = " + std::to_string(false_positive_rate);
  // Written so that NaN fails.
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    return rate + " is out of range: use more than 0 and less than 1";
  }
  const double rate_of_bits = false_positive_rate - HashRate(expected_keys);
  const BloomSize size = SizeOf(*this);
  if (rate_of_bits <= 0 ||
      deltabloom::FalsePositiveRate(size.bits, expected_keys, size.probes) >
          rate_of_bits * (1 + 1e-9)) {
    return rate + " cannot be had for expected_keys = " +
           std::to_string(expected_keys) +
           ": a filter has 2^32 bits and a hash of 32 bits at most; use a "
           "higher rate, or several filters";
  }
  return {};
}

struct ConcurrentFilter::Rep {
  explicit Rep(const ConcurrentFilterOptions& filter_options)
      : options(filter_options),
        size(SizeOf(filter_options)),
        modulo(size.bits),
        words(new std::atomic<uint64_t>[size.bits / kWordBits]()) {}

  // Calls fn(word, mask) for each probe of the hash while it returns true.
  template <typename Fn>
  void ForEachProbe(uint32_t hash, Fn fn) const {
    const uint32_t delta = hash >> 17 | hash << 15;
    for (uint32_t i = 0; i < size.probes; ++i) {
      const uint64_t position = modulo(hash);
      if (!fn(words[position / kWordBits],
              uint64_t{1} << (position % kWordBits))) {
        return;
      }
      hash += delta;
    }
  }

  uint64_t Sum(std::atomic<uint64_t> Counter::*count) const {
    uint64_t sum = 0;
    for (const Counter& counter : counters) {
      sum += (counter.*count).load(std::memory_order_relaxed);
    }
    return sum;
  }

  const ConcurrentFilterOptions options;
  const BloomSize size;
  const Modulo modulo;
  const std::unique_ptr<std::atomic<uint64_t>[]> words;
  Counter counters[kCounters];
};

ConcurrentFilter::ConcurrentFilter(const ConcurrentFilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  rep_ = std::make_unique<Rep>(options);
}

ConcurrentFilter::~ConcurrentFilter() = default;

// Relaxed order is enough everywhere: bits are only ever set, by
// read-modify-writes, so whoever an Add happens before reads its bits or a
// later value of the same word, which still has them. Nothing is read through
// a bit.

bool ConcurrentFilter::Add(std::string_view key) {
  uint64_t newly_set = 0;
  rep_->ForEachProbe(
      internal::MurmurHash2(key.data(), key.size(), internal::kBloomHashSeed),
      [&newly_set](std::atomic<uint64_t>& word, uint64_t mask) {
        // Reading first leaves the cache line shared when the bit is set, as
        // half of them are in a full filter and all are for a key that is in.
        if ((word.load(std::memory_order_relaxed) & mask) == 0 &&
            (word.fetch_or(mask, std::memory_order_relaxed) & mask) == 0) {
          ++newly_set;
        }
        return true;
      });
  Counter& counter = rep_->counters[CounterOfThisThread()];
  counter.keys.fetch_add(1, std::memory_order_relaxed);
  if (newly_set == 0) return false;
  counter.set_bits.fetch_add(newly_set, std::memory_order_relaxed);
  return true;
}

bool ConcurrentFilter::MayMatch(std::string_view key) const {
  bool may_match = true;
  rep_->ForEachProbe(
      internal::MurmurHash2(key.data(), key.size(), internal::kBloomHashSeed),
      [&may_match](const std::atomic<uint64_t>& word, uint64_t mask) {
        may_match = (word.load(std::memory_order_relaxed) & mask) != 0;
        return may_match;
      });
  return may_match;
}

uint64_t ConcurrentFilter::KeysAdded() const {
  return rep_->Sum(&Counter::keys);
}

uint64_t ConcurrentFilter::DistinctKeysEstimate() const {
  const double keys = internal::KeysFromSetBits(
      static_cast<double>(rep_->size.bits),
      static_cast<double>(rep_->Sum(&Counter::set_bits)), rep_->size.probes);
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
  const double filled = static_cast<double>(rep_->Sum(&Counter::set_bits)) /
                        static_cast<double>(rep_->size.bits);
  const double by_bits = std::pow(filled, rep_->size.probes);
  const uint64_t keys = DistinctKeysEstimate();
  if (keys == UINT64_MAX) return 1;
  return by_bits + (1 - by_bits) * HashRate(keys);
}

BloomSize ConcurrentFilter::Size() const { return rep_->size; }

void ConcurrentFilter::AppendTo(std::string* dst) const {
  const size_t start = dst->size();
  const size_t payload_size = rep_->size.bits / 8;
  dst->resize(start + payload_size + internal::kRawFramingSize);
  char* to = &(*dst)[start];
  for (size_t i = 0; i < payload_size / 8; ++i) {
    internal::StoreFixed64(to + 8 * i,
                           rep_->words[i].load(std::memory_order_relaxed));
  }
  dst->back() = static_cast<char>(rep_->size.probes);
}

}  // namespace deltabloom
