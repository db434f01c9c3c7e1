#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cmath>
#include <cstring>

#include "db_bench_ext/filter_bench/competitor.h"
#include "db_bench_ext/filter_bench/theory.h"

namespace deltabloom::bench {
namespace {

// LevelDB's policy wants all keys at once, so they are kept until then, end to
// end, as LevelDB's own filter block does.
class LevelDBBuilder : public PlainBuilder {
 public:
  explicit LevelDBBuilder(const leveldb::FilterPolicy& policy)
      : policy_(policy) {}

  void AddKey(const Slice& key) override {
    starts_.push_back(keys_.size());
    keys_.append(key.data(), key.size());
  }

  using PlainBuilder::Finish;
  Slice Finish(std::unique_ptr<const char[]>* owner) override {
    starts_.push_back(keys_.size());
    std::vector<leveldb::Slice> keys(starts_.size() - 1);
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = leveldb::Slice(keys_.data() + starts_[i],
                               starts_[i + 1] - starts_[i]);
    }
    std::string filter;
    policy_.CreateFilter(keys.data(), static_cast<int>(keys.size()), &filter);
    keys_ = {};
    starts_ = {};
    auto bytes = std::make_unique<char[]>(filter.size());
    std::memcpy(bytes.get(), filter.data(), filter.size());
    const Slice result(bytes.get(), filter.size());
    *owner = std::move(bytes);
    return result;
  }

 private:
  const leveldb::FilterPolicy& policy_;
  std::string keys_;
  std::vector<size_t> starts_;
};

class LevelDBReader : public OneByOneReader {
 public:
  LevelDBReader(const leveldb::FilterPolicy& policy, const Slice& filter)
      : policy_(policy), filter_(filter.data(), filter.size()) {}

  using OneByOneReader::MayMatch;
  bool MayMatch(const Slice& key) override {
    return policy_.KeyMayMatch(leveldb::Slice(key.data(), key.size()), filter_);
  }

 private:
  const leveldb::FilterPolicy& policy_;
  leveldb::Slice filter_;
};

class LevelDBCompetitor : public Competitor {
 public:
  // LevelDB knows whole bits per key only.
  explicit LevelDBCompetitor(double bits_per_key)
      : policy_(leveldb::NewBloomFilterPolicy(static_cast<int>(bits_per_key))) {
  }

  std::unique_ptr<FilterBitsBuilder> NewBuilder() const override {
    return std::make_unique<LevelDBBuilder>(*policy_);
  }

  std::unique_ptr<FilterBitsReader> NewReader(
      const Slice& filter) const override {
    return std::make_unique<LevelDBReader>(*policy_, filter);
  }

  std::optional<double> TheoreticalRate(const Slice& filter,
                                        uint64_t keys) const override {
    return BloomRate(static_cast<double>(filter.size() - 1) * 8,
                     filter[filter.size() - 1], static_cast<double>(keys), 32);
  }

 private:
  std::unique_ptr<const leveldb::FilterPolicy> policy_;
};

}  // namespace

std::vector<CompetitorEntry> LevelDBCompetitors() {
  return {{"leveldb-bloom", false, false,
           [](size_t key_size) {
             // Growing string and vector, each up to old and new together.
             return 3.0 * static_cast<double>(key_size + sizeof(size_t)) +
                    sizeof(leveldb::Slice);
           },
           [](double bits_per_key) {
             return std::make_unique<LevelDBCompetitor>(bits_per_key);
           }}};
}

}  // namespace deltabloom::bench
