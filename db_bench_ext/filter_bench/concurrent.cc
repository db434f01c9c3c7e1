// concurrent_bench: filters that several threads fill and look up at the same
// time. A Google Benchmark program: its options and formats are Google
// Benchmark's.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/filter_bench/initialize.h"
#include "deltabloom/concurrent_filter.h"
#include "util/coding.h"
#include "util/hash.h"

namespace deltabloom::bench {
namespace {

constexpr uint64_t kKeys = 1'000'000;
constexpr double kRate = 0.01;
// Keys numbered from here on are never added.
constexpr uint64_t kFirstAbsent = uint64_t{1} << 40;

// 16 bytes from a number.
class Key {
 public:
  explicit Key(uint64_t number) {
    internal::StoreFixed64(bytes_, number * kGolden);
    internal::StoreFixed64(bytes_ + 8, number);
  }
  operator std::string_view() const { return {bytes_, sizeof(bytes_)}; }

 private:
  char bytes_[16];
};

ConcurrentFilterOptions ConcurrentOptions() {
  ConcurrentFilterOptions options;
  options.expected_keys = kKeys;
  options.false_positive_rate = kRate;
  return options;
}

struct Concurrent : ConcurrentFilter {
  Concurrent() : ConcurrentFilter(ConcurrentOptions()) {}
};

// A plain bitmap of as many bits as ConcurrentFilter has, protected by a mutex.
// The hash is computed outside. Six probes of a 32-bit hash, two in each of
// three words of a cache line, as RocksDB's memtable Bloom filter has them.
class MutexBitmap {
 public:
  void Add(std::string_view key) {
    const Words words = WordsOf(key);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [word, mask] : words) bits_[word] |= mask;
  }

  bool MayMatch(std::string_view key) const {
    const Words words = WordsOf(key);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [word, mask] : words) {
      if ((bits_[word] & mask) != mask) return false;
    }
    return true;
  }

 private:
  using Words = std::array<std::pair<uint64_t, uint64_t>, 3>;

  // The numbers of words, and the bits in them.
  Words WordsOf(std::string_view key) const {
    const uint32_t hash =
        internal::MurmurHash2(key.data(), key.size(), internal::kBloomHashSeed);
    // The number of words is a multiple of 8.
    const uint64_t first = uint64_t{hash} * bits_.size() >> 32;
    uint64_t bits = 0x9e3779b97f4a7c13 * hash;
    Words words;
    for (size_t i = 0; i < words.size(); ++i) {
      words[i] = {first ^ i,
                  uint64_t{1} << (bits & 63) | uint64_t{1} << (bits >> 6 & 63)};
      bits = bits >> 12 | bits << 52;
    }
    return words;
  }

  mutable std::mutex mutex_;
  std::vector<uint64_t> bits_ = std::vector<uint64_t>(
      ConcurrentFilter(ConcurrentOptions()).Size().bits / 64);
};

enum class Work : uint8_t { kAdd, kPresent, kAbsent };

// Thread number i of n has an equal share of the keys.
template <typename Filter>
void Run(benchmark::State& state, Work work) {
  // Thread 0 makes the filters before the loop, at whose start all meet.
  static std::unique_ptr<Filter> fresh;
  static std::unique_ptr<Filter> full;
  if (state.thread_index() == 0) {
    fresh = std::make_unique<Filter>();
    if (full == nullptr) {
      full = std::make_unique<Filter>();
      for (uint64_t i = 0; i < kKeys; ++i) full->Add(Key(i));
    }
  }
  auto number = static_cast<uint64_t>(state.thread_index()) * kKeys /
                static_cast<uint64_t>(state.threads());
  if (work == Work::kAbsent) number += kFirstAbsent;
  uint64_t found = 0;
  for (auto unused : state) {
    static_cast<void>(unused);
    if (work == Work::kAdd) {
      fresh->Add(Key(number++));
    } else {
      found += full->MayMatch(Key(number++));
    }
  }
  if (work == Work::kPresent &&
      found != static_cast<uint64_t>(state.iterations())) {
    state.SkipWithError("an added key was rejected");
  }
  state.counters["found"] = benchmark::Counter(
      static_cast<double>(found) / static_cast<double>(state.iterations()),
      benchmark::Counter::kAvgThreads);
  state.SetItemsProcessed(state.iterations());
}

template <typename Filter>
void Register(const std::string& name) {
  for (const int threads : {1, 2, 4, 8}) {
    for (const auto& [what, work] : {std::pair{"add/", Work::kAdd},
                                     {"present/", Work::kPresent},
                                     {"absent/", Work::kAbsent}}) {
      benchmark::RegisterBenchmark((what + name).c_str(), Run<Filter>, work)
          ->Threads(threads)
          ->UseRealTime()
          ->Iterations(static_cast<benchmark::IterationCount>(kKeys) / threads);
    }
  }
}

}  // namespace
}  // namespace deltabloom::bench

int main(int argc, char** argv) {
  using namespace deltabloom::bench;
  std::vector<std::string> words = {"--benchmark_report_aggregates_only=true"};
  words.insert(words.end(), argv + 1, argv + argc);
  if (!InitializeBenchmark("concurrent_bench", words)) return 2;
  Register<Concurrent>("ConcurrentFilter");
  Register<MutexBitmap>("a mutex over a plain bitmap");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
