// The timed loops.
#include <benchmark/benchmark.h>

#include <chrono>

#include "db_bench_ext/filter_bench/filters.h"

namespace deltabloom::bench {

const std::vector<LookupKind>& AllLookupKinds() {
  using P = Presence;
  using F = Form;
  using C = Choice;
  static const std::vector<LookupKind> kinds = {
      {"miss_ns", P::kMiss, F::kOneByOne, C::kSingle},
      {"hit_ns", P::kHit, F::kOneByOne, C::kSingle},
      {"batch_miss_ns", P::kMiss, F::kBatch, C::kSingle},
      {"batch_hit_ns", P::kHit, F::kBatch, C::kSingle},
      {"mixed_ns", P::kMixed, F::kBranching, C::kSingle},
      {"dependent_miss_ns", P::kMiss, F::kDependent, C::kSingle},
      {"random_filter_miss_ns", P::kMiss, F::kOneByOne, C::kRandom},
      {"random_filter_hit_ns", P::kHit, F::kOneByOne, C::kRandom},
      {"random_filter_batch_miss_ns", P::kMiss, F::kBatch, C::kRandom},
      {"skewed_filter_miss_ns", P::kMiss, F::kOneByOne, C::kSkewed},
      {"skewed_filter_hit_ns", P::kHit, F::kOneByOne, C::kSkewed},
      {"skewed_filter_batch_miss_ns", P::kMiss, F::kBatch, C::kSkewed},
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
      lookups_(chunk_.capacity()),
      random_(Mix(stream)),
      readers_(chunk_.capacity()),
      slices_(chunk_.capacity()) {
  if (kind.form == Form::kDependent) lookups_ /= 2;
  for (size_t i = 0; i < slices_.size(); ++i) {
    slices_[i] = chunk_[i];
    pointers_.push_back(&slices_[i]);
  }
}

size_t LookupLoop::NextFilter() {
  if (kind_.choice == Choice::kSingle) return 0;
  uint64_t first = 0;
  uint64_t count = filters_.size();
  if (kind_.choice == Choice::kSkewed) {
    const uint64_t hot = (count + 4) / 5;
    if (random_.Below(5) < 4) {
      count = hot;
    } else {
      first = hot;
      count -= hot;
    }
  }
  return static_cast<size_t>(first + random_.Below(count));
}

void LookupLoop::Prepare() {
  size_t filter = 0;
  for (size_t i = 0; i < chunk_.capacity(); ++i) {
    // All keys of a batch are for one filter. A chunk has whole batches.
    if (kind_.form != Form::kBatch || i % kBatchKeys == 0)
      filter = NextFilter();
    const BuiltFilter& target = filters_[filter];
    readers_[i] = target.reader.get();
    const bool present =
        kind_.presence == Presence::kHit ||
        (kind_.presence == Presence::kMixed && random_.Below(2) == 1);
    chunk_.Set(
        i, maker_,
        present ? target.first + random_.Below(target.keys) : TakeAbsent(1),
        present);
  }
}

uint64_t LookupLoop::RunOneByOne() {
  uint64_t matches = 0;
  if (kind_.choice == Choice::kSingle) {
    FilterBitsReader* const reader = readers_[0];
    for (size_t i = 0; i < lookups_; ++i) {
      matches += reader->MayMatch(chunk_[i]);
    }
    return matches;
  }
  for (size_t i = 0; i < lookups_; ++i) {
    matches += readers_[i]->MayMatch(chunk_[i]);
  }
  return matches;
}

uint64_t LookupLoop::RunBranching() {
  FilterBitsReader* const reader = readers_[0];
  uint64_t matches = 0;
  uint64_t denials = 0;
  for (size_t i = 0; i < lookups_; ++i) {
    // An engine reads a data block or goes on to the next table. These
    // statements cost nothing but cannot be compiled without a branch.
    if (reader->MayMatch(chunk_[i])) {
      benchmark::DoNotOptimize(++matches);
    } else {
      benchmark::DoNotOptimize(++denials);
    }
  }
  return matches;
}

uint64_t LookupLoop::RunDependent() {
  FilterBitsReader* const reader = readers_[0];
  uint64_t matches = 0;
  // The answer decides which key of the next pair is looked up.
  size_t answer = 0;
  for (size_t i = 0; i < lookups_; ++i) {
    answer = reader->MayMatch(chunk_[2 * i + answer]);
    matches += answer;
  }
  return matches;
}

uint64_t LookupLoop::RunBatches() {
  uint64_t matches = 0;
  for (size_t first = 0; first < lookups_; first += kBatchKeys) {
    bool answers[kBatchKeys];
    readers_[first]->MayMatch(static_cast<int>(kBatchKeys),
                              pointers_.data() + first, answers);
    for (size_t i = 0; i < kBatchKeys; ++i) matches += answers[i];
  }
  return matches;
}

double LookupLoop::Run() {
  const auto start = std::chrono::steady_clock::now();
  switch (kind_.form) {
    case Form::kOneByOne:
      matches_ += RunOneByOne();
      break;
    case Form::kBranching:
      matches_ += RunBranching();
      break;
    case Form::kDependent:
      matches_ += RunDependent();
      break;
    case Form::kBatch:
      matches_ += RunBatches();
      break;
  }
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  return spent.count();
}

}  // namespace deltabloom::bench
