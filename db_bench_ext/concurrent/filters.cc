#include "db_bench_ext/concurrent/filters.h"

#include <atomic>
#include <mutex>

#include "deltabloom/concurrent_filter.h"
#include "deltabloom/filter.h"
#include "deltabloom/guava_filter.h"
#include "util/hash.h"
#include "util/hash64.h"

namespace deltabloom::concurrent_bench {
namespace {

ConcurrentFilterOptions OptionsFor(uint64_t keys, double rate) {
  ConcurrentFilterOptions options;
  options.expected_keys = keys;
  options.false_positive_rate = rate;
  return options;
}

class Ours : public SharedFilter {
 public:
  Ours(uint64_t keys, double rate) : filter_(OptionsFor(keys, rate)) {}
  void Add(std::string_view key) override { filter_.Add(key); }
  bool MayMatch(std::string_view key) const override {
    return filter_.MayMatch(key);
  }

 private:
  ConcurrentFilter filter_;
};

// The same behind a lock, as a filter that is not made for threads needs it.
class Locked : public SharedFilter {
 public:
  Locked(uint64_t keys, double rate) : filter_(OptionsFor(keys, rate)) {}
  void Add(std::string_view key) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    filter_.Add(key);
  }
  bool MayMatch(std::string_view key) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return filter_.MayMatch(key);
  }

 private:
  mutable std::mutex mutex_;
  ConcurrentFilter filter_;
};

// What RocksDB's memtable Bloom filter does (its class is private): 6 probes of
// a 32-bit hash, two to each of three words of 64 bits within a cache line,
// set by a fetch_or unless they are there. It counts nothing and does not say
// whether a key was new.
class LikeMemtable : public SharedFilter {
 public:
  LikeMemtable(uint64_t keys, double rate) {
    const uint64_t bits = ConcurrentFilter(OptionsFor(keys, rate)).Size().bits;
    words_ = std::vector<std::atomic<uint64_t>>(bits / 64);
  }

  void Add(std::string_view key) override {
    ForEachWord(key, [this](uint64_t word, uint64_t mask) {
      if ((words_[word].load(std::memory_order_relaxed) & mask) != mask) {
        words_[word].fetch_or(mask, std::memory_order_relaxed);
      }
      return true;
    });
  }

  bool MayMatch(std::string_view key) const override {
    bool may_match = true;
    ForEachWord(key, [&](uint64_t word, uint64_t mask) {
      may_match = (words_[word].load(std::memory_order_relaxed) & mask) == mask;
      return may_match;
    });
    return may_match;
  }

 private:
  static constexpr uint64_t kWordsTried = 3;

  template <typename Fn>
  void ForEachWord(std::string_view key, Fn fn) const {
    const uint32_t hash =
        internal::MurmurHash2(key.data(), key.size(), internal::kBloomHashSeed);
    const uint64_t first = uint64_t{hash} * words_.size() >> 32;
    uint64_t bits = 0x9e3779b97f4a7c13 * hash;
    for (uint64_t i = 0; i < kWordsTried; ++i) {
      const uint64_t mask =
          uint64_t{1} << (bits & 63) | uint64_t{1} << (bits >> 6 & 63);
      // Whole blocks of 8 words: words_.size() is a multiple of it.
      if (!fn(first ^ i, mask)) return;
      bits = bits >> 12 | bits << 52;
    }
  }

  std::vector<std::atomic<uint64_t>> words_;
};

class Guava : public SharedFilter {
 public:
  Guava(uint64_t keys, double rate) : filter_(OptionsOf(keys, rate)) {}
  void Add(std::string_view key) override { filter_.Put(key); }
  bool MayMatch(std::string_view key) const override {
    return filter_.MightContain(key);
  }

 private:
  static GuavaFilterOptions OptionsOf(uint64_t keys, double rate) {
    GuavaFilterOptions options;
    options.expected_insertions = keys;
    options.false_positive_rate = rate;
    return options;
  }

  GuavaFilter filter_;
};

template <typename Kind>
std::unique_ptr<SharedFilter> Make(uint64_t keys, double rate) {
  return std::make_unique<Kind>(keys, rate);
}

}  // namespace

const std::vector<Contender>& Contenders() {
  static const std::vector<Contender> contenders = {
      {"ConcurrentFilter", Make<Ours>},
      {"behind a mutex", Make<Locked>},
      {"like RocksDB's memtable", Make<LikeMemtable>},
      {"GuavaFilter", Make<Guava>},
  };
  return contenders;
}

}  // namespace deltabloom::concurrent_bench
