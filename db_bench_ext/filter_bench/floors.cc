#include <algorithm>
#include <cstring>

#include "db_bench_ext/filter_bench/competitor.h"
#include "db_bench_ext/filter_bench/keys.h"
#include "util/hash.h"

namespace deltabloom::bench {
namespace {

// The loop, the key and the virtual call; a batch is one call.
class EmptyReader : public FilterBitsReader {
 public:
  bool MayMatch(const Slice&) override { return false; }

  void MayMatch(int n, Slice**, bool* may_match) override {
    std::fill_n(may_match, n, false);
  }
};

// With the hash of the classic layout.
class HashReader final : public FilterBitsReader {
 public:
  bool MayMatch(const Slice& key) override {
    return internal::MurmurHash2(key.data(), key.size(),
                                 internal::kBloomHashSeed) == 0;
  }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    for (int i = 0; i < n; ++i) may_match[i] = MayMatch(*keys[i]);
  }
};

// With one cache line somewhere in a filter-sized memory, chosen by the first
// bytes of the key at next to no cost.
class CacheLineReader : public FilterBitsReader {
 public:
  explicit CacheLineReader(const Slice& memory) : memory_(memory) {}

  bool MayMatch(const Slice& key) override { return *LineOf(key) == 1; }

  void MayMatch(int n, Slice** keys, bool* may_match) override {
    constexpr int kMost = 32;
    const char* lines[kMost];
    for (int done = 0; done < n; done += kMost) {
      const int count = n - done < kMost ? n - done : kMost;
      for (int i = 0; i < count; ++i) {
        lines[i] = LineOf(*keys[done + i]);
        __builtin_prefetch(lines[i]);
      }
      for (int i = 0; i < count; ++i) may_match[done + i] = *lines[i] == 1;
    }
  }

 private:
  const char* LineOf(const Slice& key) const {
    uint64_t word = 0;
    std::memcpy(&word, key.data() + key.size() - sizeof(word), sizeof(word));
    return memory_.data() + Scale(word * kGolden, memory_.size() / 64) * 64;
  }

  Slice memory_;
};

enum class Floor : uint8_t { kCall, kHash, kCacheLine };

class FloorCompetitor : public Competitor {
 public:
  explicit FloorCompetitor(Floor floor) : floor_(floor) {}

  std::unique_ptr<FilterBitsBuilder> NewBuilder() const override {
    return nullptr;
  }

  std::unique_ptr<FilterBitsReader> NewReader(
      const Slice& filter) const override {
    switch (floor_) {
      case Floor::kCall:
        break;
      case Floor::kHash:
        return std::make_unique<HashReader>();
      case Floor::kCacheLine:
        return std::make_unique<CacheLineReader>(filter);
    }
    return std::make_unique<EmptyReader>();
  }

  std::optional<double> TheoreticalRate(const Slice&, uint64_t) const override {
    return std::nullopt;
  }

 private:
  Floor floor_;
};

CompetitorEntry EntryOf(const char* name, Floor floor) {
  return {name, true, false, [](size_t) { return 0.0; },
          [floor](double) { return std::make_unique<FloorCompetitor>(floor); }};
}

}  // namespace

std::vector<CompetitorEntry> Floors() {
  return {EntryOf("floor-call", Floor::kCall),
          EntryOf("floor-hash", Floor::kHash),
          EntryOf("floor-cache-line", Floor::kCacheLine)};
}

}  // namespace deltabloom::bench
