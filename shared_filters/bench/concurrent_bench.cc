// concurrent_bench: filters that several threads fill and look up at the same
// time. A Google Benchmark program: its options and formats are Google
// Benchmark's.
#include <benchmark/benchmark.h>

#include <cstdint>
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
#include "util/hash64.h"

namespace deltabloom::bench {
namespace {

constexpr uint64_t kKeys = 1'000'000;
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

struct Concurrent : ConcurrentFilter {
  Concurrent() : ConcurrentFilter({kKeys, /*false_positive_rate=*/0.01}) {}
};

// A plain bitmap of as many bits as ConcurrentFilter has, protected by a mutex.
// The hash is computed outside. Six probes, two in each of three words of a
// cache line, as RocksDB's memtable Bloom filter has them.
class MutexBitmap {
 public:
  void Add(std::string_view key) {
    const uint64_t hash = internal::Hash64(key);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (uint64_t i = 0; i < 3; ++i) bits_[Word(hash, i)] |= Mask(hash, i);
  }

  bool MayMatch(std::string_view key) const {
    const uint64_t hash = internal::Hash64(key);
    const std::lock_guard<std::mutex> lock(mutex_);
    uint64_t missing = 0;
    for (uint64_t i = 0; i < 3; ++i) {
      missing |= Mask(hash, i) & ~bits_[Word(hash, i)];
    }
    return missing == 0;
  }

 private:
  // The number of words is a multiple of 8.
  uint64_t Word(uint64_t hash, uint64_t i) const {
    return internal::ScaleHash(hash, bits_.size()) ^ i;
  }
  static uint64_t Mask(uint64_t hash, uint64_t i) {
    const uint64_t bits = hash >> 12 * i;
    return uint64_t{1} << (bits & 63) | uint64_t{1} << (bits >> 6 & 63);
  }

  mutable std::mutex mutex_;
  std::vector<uint64_t> bits_ =
      std::vector<uint64_t>(Concurrent().Size().bits / 64);
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
