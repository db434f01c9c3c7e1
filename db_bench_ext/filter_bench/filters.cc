#include "db_bench_ext/filter_bench/filters.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/filter_bench/competitors.h"
#include "db_bench_ext/filter_bench/keys.h"

// While memory is counted, malloc and calloc, on which operator new rests, add
// what they give. Replaced for shared libraries as well, so exported: clang
// hides them otherwise.
static bool counting = false;
static int64_t live_bytes = 0, peak_bytes = 0;

#pragma GCC visibility push(default)
extern "C" {
// glibc's own.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void __libc_free(void* block);

static void* Counted(void* block) {
  if (counting) {
    live_bytes += static_cast<int64_t>(malloc_usable_size(block));
    peak_bytes = std::max(peak_bytes, live_bytes);
  }
  return block;
}

void* malloc(size_t bytes) { return Counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) {
  return Counted(__libc_calloc(count, bytes));
}
void free(void* block) {
  if (counting) live_bytes -= static_cast<int64_t>(malloc_usable_size(block));
  __libc_free(block);
}
}
#pragma GCC visibility pop

namespace deltabloom::bench {
namespace {

// The binomial error of this many positives is 1.6 % of the rate.
constexpr uint64_t kEnoughPositives = 4000;

// Keys that are added between two looks at the clock.
constexpr size_t kBuildChunkBytes = size_t{128} << 10;

// Adds up the time between Start and Stop. A small build is timed by the
// monotonic clock, which is quick to read, and the median of many builds
// counts. A large one is hardly ever undisturbed: the CPU time of its thread
// counts.
class BuildClock {
 public:
  explicit BuildClock(uint64_t keys)
      : id_(keys < kLargeBuild ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID) {}

  void Start() { start_ = Now(); }
  void Stop() { spent_ += Now() - start_; }
  double Seconds() const { return static_cast<double>(spent_) * 1e-9; }

 private:
  static constexpr uint64_t kLargeBuild = 50'000;

  int64_t Now() const {
    timespec now{};
    clock_gettime(id_, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  clockid_t id_;
  int64_t start_ = 0;
  int64_t spent_ = 0;
};

// Looks up batches of keys.
class Batch {
 public:
  explicit Batch(const KeyMaker& maker) : maker_(maker), chunk_(maker) {
    for (size_t i = 0; i < kBatchKeys; ++i) {
      slices_[i] = chunk_[i];
      pointers_[i] = &slices_[i];
    }
  }

  // The number of `n` keys that may match. n <= kBatchKeys.
  uint64_t CountMatches(FilterBitsReader* reader, uint64_t first, uint64_t n,
                        bool present) {
    for (size_t i = 0; i < n; ++i) chunk_.Set(i, maker_, first + i, present);
    std::array<bool, kBatchKeys> answers{};
    reader->MayMatch(static_cast<int>(n), pointers_.data(), answers.data());
    return static_cast<uint64_t>(
        std::count(answers.begin(), answers.end(), true));
  }

 private:
  const KeyMaker& maker_;
  KeyChunk chunk_;
  std::array<Slice, kBatchKeys> slices_;
  std::array<Slice*, kBatchKeys> pointers_{};
};

}  // namespace

BuiltFilter BuildFilter(const Competitor& competitor, const KeyMaker& maker,
                        uint64_t first, uint64_t keys, double* seconds) {
  BuiltFilter filter;
  filter.first = first;
  filter.keys = keys;
  KeyChunk chunk(maker, kBuildChunkBytes);
  BuildClock clock(keys);

  clock.Start();
  std::unique_ptr<FilterBitsBuilder> builder = competitor.new_builder();
  clock.Stop();
  if (builder == nullptr) throw std::runtime_error("no filter is built");
  for (uint64_t done = 0; done < keys;) {
    const auto n =
        static_cast<size_t>(std::min<uint64_t>(chunk.capacity(), keys - done));
    for (size_t i = 0; i < n; ++i) chunk.Set(i, maker, first + done + i, true);
    clock.Start();
    for (size_t i = 0; i < n; ++i) builder->AddKey(chunk[i]);
    clock.Stop();
    done += n;
  }
  clock.Start();
  rocksdb::Status status;
  filter.bytes = builder->Finish(&filter.owner, &status);
  builder.reset();
  clock.Stop();
  if (!status.ok()) throw std::runtime_error(status.ToString());
  if (filter.owner == nullptr) {
    throw std::runtime_error("the builder keeps its filter to itself");
  }

  if (seconds != nullptr) *seconds = clock.Seconds();
  filter.reader = competitor.new_reader(filter.bytes);
  return filter;
}

uint64_t MeasureBuildBytes(const Competitor& competitor, const KeyMaker& maker,
                           uint64_t keys) {
  KeyChunk chunk(maker);
  live_bytes = peak_bytes = 0;
  counting = true;
  std::unique_ptr<FilterBitsBuilder> builder = competitor.new_builder();
  for (uint64_t i = 0; i < keys; ++i) {
    chunk.Set(0, maker, i, true);
    builder->AddKey(chunk[0]);
  }
  std::unique_ptr<const char[]> owner;
  rocksdb::Status status;
  const Slice filter = builder->Finish(&owner, &status);
  counting = false;
  return static_cast<uint64_t>(peak_bytes) - filter.size();
}

Rate MeasureFalsePositives(const std::vector<BuiltFilter>& filters,
                           const KeyMaker& maker, uint64_t max_samples) {
  Rate rate;
  Batch batch(maker);
  // Whole rounds over the filters, so that all have the same weight.
  while (rate.positives < kEnoughPositives || rate.samples < max_samples / 4) {
    for (const BuiltFilter& filter : filters) {
      rate.positives += batch.CountMatches(
          filter.reader.get(), TakeAbsent(kBatchKeys), kBatchKeys, false);
      rate.samples += kBatchKeys;
    }
    if (rate.samples >= max_samples) break;
  }
  return rate;
}

uint64_t CountFalseNegatives(const std::vector<BuiltFilter>& filters,
                             const KeyMaker& maker, uint64_t max_samples) {
  uint64_t lost = 0;
  Batch batch(maker);
  const uint64_t per_filter = max_samples / (filters.size() + 1) + 1;
  for (const BuiltFilter& filter : filters) {
    const uint64_t end = std::min(filter.keys, per_filter);
    for (uint64_t i = 0; i < end; i += kBatchKeys) {
      const uint64_t n = std::min<uint64_t>(kBatchKeys, end - i);
      lost += n - batch.CountMatches(filter.reader.get(), filter.first + i, n,
                                     true);
    }
  }
  return lost;
}

const std::vector<LookupKind>& AllLookupKinds() {
  static const std::vector<LookupKind> kinds = {
      {"miss_ns", false, false, false},
      {"hit_ns", true, false, false},
      {"batch_miss_ns", false, true, false},
      {"batch_hit_ns", true, true, false},
      {"random_filter_miss_ns", false, false, true},
      {"random_filter_hit_ns", true, false, true},
      {"random_filter_batch_miss_ns", false, true, true},
  };
  return kinds;
}

LookupLoop::LookupLoop(const LookupKind& kind,
                       const std::vector<BuiltFilter>& filters,
                       const KeyMaker& maker, uint64_t stream)
    : kind_(kind),
      filters_(filters),
      maker_(maker),
      chunk_(maker),
      random_(Mix(stream)),
      readers_(chunk_.capacity()),
      slices_(chunk_.capacity()) {
  for (size_t i = 0; i < slices_.size(); ++i) {
    slices_[i] = chunk_[i];
    pointers_.push_back(&slices_[i]);
  }
}

void LookupLoop::Prepare() {
  const BuiltFilter* target = &filters_.front();
  for (size_t i = 0; i < Lookups(); ++i) {
    // All keys of a batch are for one filter. A chunk has whole batches.
    if (kind_.many && (!kind_.batch || i % kBatchKeys == 0)) {
      target = &filters_[random_.Below(filters_.size())];
    }
    readers_[i] = target->reader.get();
    chunk_.Set(i, maker_,
               kind_.present ? target->first + random_.Below(target->keys)
                             : TakeAbsent(1),
               kind_.present);
  }
}

double LookupLoop::Run() {
  uint64_t matches = 0;
  const auto start = std::chrono::steady_clock::now();
  if (kind_.batch) {
    for (size_t first = 0; first < Lookups(); first += kBatchKeys) {
      bool answers[kBatchKeys];
      readers_[first]->MayMatch(static_cast<int>(kBatchKeys),
                                pointers_.data() + first, answers);
      for (size_t i = 0; i < kBatchKeys; ++i) matches += answers[i];
    }
  } else if (kind_.many) {
    for (size_t i = 0; i < Lookups(); ++i) {
      matches += readers_[i]->MayMatch(chunk_[i]);
    }
  } else {
    FilterBitsReader* const reader = readers_[0];
    for (size_t i = 0; i < Lookups(); ++i) {
      matches += reader->MayMatch(chunk_[i]);
    }
  }
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  matches_ += matches;
  return spent.count();
}

}  // namespace deltabloom::bench
