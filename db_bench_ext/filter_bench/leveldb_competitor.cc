#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cmath>
#include <cstring>

#include "db_bench_ext/filter_bench/competitor.h"
#include "deltabloom/leveldb.h"
#include "util/rates/rates.h"

namespace deltabloom::bench {
namespace {

// A LevelDB policy wants all keys at once, so they are kept until then, end to
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
  explicit LevelDBCompetitor(
      std::unique_ptr<const leveldb::FilterPolicy> policy)
      : policy_(std::move(policy)) {}

  std::unique_ptr<FilterBitsBuilder> NewBuilder() const override {
    return std::make_unique<LevelDBBuilder>(*policy_);
  }

  std::unique_ptr<FilterBitsReader> NewReader(
      const Slice& filter) const override {
    return std::make_unique<LevelDBReader>(*policy_, filter);
  }

  std::optional<double> TheoreticalRate(const Slice& filter,
                                        uint64_t keys) const override {
    return internal::BloomRateOfHash(static_cast<double>(filter.size() - 1) * 8,
                                     static_cast<double>(keys),
                                     filter[filter.size() - 1], 32);
  }

 private:
  std::unique_ptr<const leveldb::FilterPolicy> policy_;
};

using NewPolicy =
    std::unique_ptr<const leveldb::FilterPolicy> (*)(double bits_per_key);

CompetitorEntry EntryOf(const char* name, NewPolicy new_policy) {
  CompetitorEntry entry;
  entry.name = name;
  entry.build_bytes_per_key = [](size_t key_size) {
    // Growing string and vector, each up to old and new together.
    return 3.0 * static_cast<double>(key_size + sizeof(size_t)) +
           sizeof(leveldb::Slice);
  };
  entry.make = [new_policy](double bits_per_key) {
    return std::make_unique<LevelDBCompetitor>(new_policy(bits_per_key));
  };
  return entry;
}

std::unique_ptr<const leveldb::FilterPolicy> NewLevelDBsOwn(
    double bits_per_key) {
  // It knows whole bits per key only.
  return std::unique_ptr<const leveldb::FilterPolicy>(
      leveldb::NewBloomFilterPolicy(static_cast<int>(bits_per_key)));
}

std::unique_ptr<const leveldb::FilterPolicy> NewMurmurHash2(
    double bits_per_key) {
  FilterOptions options;
  options.bits_per_key = bits_per_key;
  return NewLevelDBFilterPolicy(options);
}

}  // namespace

std::vector<CompetitorEntry> LevelDBCompetitors() {
  return {EntryOf("leveldb-bloom", NewLevelDBsOwn)};
}

std::vector<CompetitorEntry> LevelDBAdapters() {
  std::vector<CompetitorEntry> entries = {
      EntryOf("deltabloom-leveldb", NewLevelDBBloomFilterPolicy),
      EntryOf("deltabloom-leveldb-murmurhash2", NewMurmurHash2)};
  for (CompetitorEntry& entry : entries) entry.only_named = true;
  return entries;
}

}  // namespace deltabloom::bench
