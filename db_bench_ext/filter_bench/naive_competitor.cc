#include <algorithm>

#include "db_bench_ext/filter_bench/competitor.h"
#include "util/hash.h"
#include "util/rates/rates.h"

namespace deltabloom::bench {
namespace {

uint32_t HashOf(const Slice& key) {
  return internal::MurmurHash2(key.data(), key.size(),
                               internal::kBloomHashSeed);
}

// The classic layout as its definition reads, with no thought for speed: what
// a first implementation would be.
class NaiveBuilder : public PlainBuilder {
 public:
  explicit NaiveBuilder(double bits_per_key) : bits_per_key_(bits_per_key) {}

  void AddKey(const Slice& key) override { hashes_.push_back(HashOf(key)); }

  using PlainBuilder::Finish;
  Slice Finish(std::unique_ptr<const char[]>* owner) override {
    const auto wanted = static_cast<uint64_t>(
        static_cast<double>(hashes_.size()) * bits_per_key_);
    const uint64_t bytes = (std::max<uint64_t>(wanted, 64) + 7) / 8;
    const uint64_t bits = bytes * 8;
    const int probes =
        std::clamp(static_cast<int>(bits_per_key_ * 0.69), 1, 30);
    auto filter = std::make_unique<char[]>(bytes + 1);
    for (uint32_t hash : hashes_) {
      const uint32_t delta = hash >> 17 | hash << 15;
      for (int probe = 0; probe < probes; ++probe) {
        const uint64_t position = hash % bits;
        filter[position / 8] =
            static_cast<char>(filter[position / 8] | 1 << (position % 8));
        hash += delta;
      }
    }
    filter[bytes] = static_cast<char>(probes);
    hashes_ = {};
    const Slice result(filter.get(), bytes + 1);
    *owner = std::move(filter);
    return result;
  }

 private:
  double bits_per_key_;
  std::vector<uint32_t> hashes_;
};

class NaiveReader : public OneByOneReader {
 public:
  explicit NaiveReader(const Slice& filter) : filter_(filter) {}

  using OneByOneReader::MayMatch;
  bool MayMatch(const Slice& key) override {
    const uint64_t bits = (filter_.size() - 1) * 8;
    const int probes = filter_[filter_.size() - 1];
    uint32_t hash = HashOf(key);
    const uint32_t delta = hash >> 17 | hash << 15;
    for (int probe = 0; probe < probes; ++probe) {
      const uint64_t position = hash % bits;
      if ((filter_[position / 8] >> (position % 8) & 1) == 0) return false;
      hash += delta;
    }
    return true;
  }

 private:
  Slice filter_;
};

class NaiveCompetitor : public Competitor {
 public:
  explicit NaiveCompetitor(double bits_per_key) : bits_per_key_(bits_per_key) {}

  std::unique_ptr<FilterBitsBuilder> NewBuilder() const override {
    return std::make_unique<NaiveBuilder>(bits_per_key_);
  }

  std::unique_ptr<FilterBitsReader> NewReader(
      const Slice& filter) const override {
    return std::make_unique<NaiveReader>(filter);
  }

  std::optional<double> TheoreticalRate(const Slice& filter,
                                        uint64_t keys) const override {
    return internal::BloomRateOfHash(static_cast<double>(filter.size() - 1) * 8,
                                     static_cast<double>(keys),
                                     filter[filter.size() - 1], 32);
  }

 private:
  double bits_per_key_;
};

}  // namespace

std::vector<CompetitorEntry> NaiveCompetitors() {
  return {{"naive-classic", false, false, [](size_t) { return 12.0; },
           [](double bits_per_key) {
             return std::make_unique<NaiveCompetitor>(bits_per_key);
           }}};
}

}  // namespace deltabloom::bench
