#include "db_bench_ext/filter_bench/competitors.h"

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/leveldb.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/filter_policy.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/layouts/classic/classic.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/rates/rates.h"

namespace deltabloom::bench {
namespace {

using LevelDBPolicy = std::unique_ptr<const leveldb::FilterPolicy>;
using RocksDBPolicy = std::shared_ptr<const rocksdb::FilterPolicy>;
using RateFunction = std::optional<double> (*)(const Slice&, uint64_t);

Competitor OfPolicy(const RocksDBPolicy& policy, RateFunction rate) {
  return {[policy] { return internal::NewBitsBuilder(*policy); },
          [policy](const Slice& filter) {
            return internal::NewBitsReader(*policy, filter);
          },
          rate};
}

std::optional<double> RocksDBRate(const Slice& filter, uint64_t keys) {
  return internal::RocksDBFilterRate(filter.ToStringView(), keys);
}

std::vector<CompetitorEntry> RocksDBCompetitors() {
  const auto bloom = [](double bits_per_key) {
    return OfPolicy(RocksDBPolicy(rocksdb::NewBloomFilterPolicy(bits_per_key)),
                    RocksDBRate);
  };
  // Ribbon takes the bits per key of the Bloom filter with the same
  // false-positive rate. The second argument selects it at every level.
  const auto ribbon = [](double bits_per_key) {
    return OfPolicy(
        RocksDBPolicy(rocksdb::NewRibbonFilterPolicy(bits_per_key, -1)),
        RocksDBRate);
  };
  return {{"rocksdb-bloom", bloom}, {"rocksdb-ribbon", ribbon}};
}

// Returns the rate of a classic filter with LevelDB's bytes: the bits, then the
// number of probes.
std::optional<double> RateOfRawClassic(const Slice& filter, uint64_t keys) {
  return internal::BloomRateOfHash(static_cast<double>(filter.size() - 1) * 8,
                                   static_cast<double>(keys),
                                   filter[filter.size() - 1], 32);
}

// A LevelDB policy takes all keys at once, so they are kept until then, end to
// end, as LevelDB's own filter block does.
class LevelDBBuilder : public FilterBitsBuilder {
 public:
  explicit LevelDBBuilder(const leveldb::FilterPolicy& policy)
      : policy_(policy) {}

  void AddKey(const Slice& key) override {
    starts_.push_back(keys_.size());
    keys_.append(key.data(), key.size());
  }

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

  // The benchmark does not call this.
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    AddKey(key);
    AddKey(alt);
  }
#endif
  size_t EstimateEntriesAdded() override { return 0; }
  Slice Finish(std::unique_ptr<const char[]>* owner,
               rocksdb::Status* status) override {
    if (status != nullptr) *status = rocksdb::Status::OK();
    return Finish(owner);
  }
  rocksdb::Status MaybePostVerify(const Slice&) override {
    return rocksdb::Status::OK();
  }
  size_t ApproximateNumEntries(size_t) override { return 0; }
  size_t CalculateSpace(size_t) override { return 0; }
  double EstimatedFpRate(size_t, size_t) override { return 0; }

 private:
  const leveldb::FilterPolicy& policy_;
  std::string keys_;
  std::vector<size_t> starts_;
};

class LevelDBReader : public FilterBitsReader {
 public:
  LevelDBReader(const leveldb::FilterPolicy& policy, const Slice& filter)
      : policy_(policy), filter_(filter.data(), filter.size()) {}

  bool MayMatch(const Slice& key) override {
    return policy_.KeyMayMatch(leveldb::Slice(key.data(), key.size()), filter_);
  }
  void MayMatch(int n, Slice** keys, bool* may_match) override {
    for (int i = 0; i < n; ++i)
      may_match[i] = LevelDBReader::MayMatch(*keys[i]);
  }

 private:
  const leveldb::FilterPolicy& policy_;
  leveldb::Slice filter_;
};

CompetitorEntry LevelDBEntry(const char* name, LevelDBPolicy (*policy)(double),
                             bool only_named) {
  const auto make = [policy](double bits_per_key) {
    const std::shared_ptr<const leveldb::FilterPolicy> shared =
        policy(bits_per_key);
    return Competitor{
        [shared] { return std::make_unique<LevelDBBuilder>(*shared); },
        [shared](const Slice& filter) {
          return std::make_unique<LevelDBReader>(*shared, filter);
        },
        RateOfRawClassic};
  };
  return {name, make, only_named};
}

// LevelDB's policy, which accepts whole bits per key only, and Deltabloom's
// policy for LevelDB.
std::vector<CompetitorEntry> LevelDBCompetitors() {
  const auto bloom = [](double bits_per_key) {
    return LevelDBPolicy(
        leveldb::NewBloomFilterPolicy(static_cast<int>(bits_per_key)));
  };
  const auto ours = [](double bits_per_key) {
    return NewLevelDBBloomFilterPolicy(bits_per_key);
  };
  return {LevelDBEntry("leveldb-bloom", bloom, false),
          LevelDBEntry("deltabloom-leveldb", ours, true)};
}

std::optional<double> SealedRate(const Slice& filter, uint64_t keys) {
  internal::ParsedFilter parsed;
  internal::HashedKeys hashed;
  const std::string_view bytes = filter.ToStringView();
  if (internal::ParseSealed(bytes, internal::Cpu::kPortable, &hashed, &parsed,
                            nullptr) != internal::FilterKind::kFilter) {
    return std::nullopt;
  }
  const internal::LayoutRow* const row = internal::FindLayoutOfLastByte(
      static_cast<unsigned char>(bytes.back()), Hash::kMurmurHash2);
  if (row->layout == Layout::kClassic) {
    // The layout's own rate is the one measured for the worst sizes.
    const auto& shape = parsed.shape.As<internal::classic::Shape>();
    return internal::BloomRateOfHash(static_cast<double>(shape.bits),
                                     static_cast<double>(keys), shape.probes,
                                     32);
  }
  return row->rate(parsed.shape, keys);
}

// A layout with options of the policy.
struct Variant {
  const char* suffix;  // of the competitor's name
  bool seeded;
  const char* key_transform;
  bool statistics;
};

// The first is the plain filter; the others take part only where they are
// named.
constexpr Variant kVariants[] = {
    {"", false, "none", false},
    {"-seeded", true, "none", false},
    {"-lowercase", false, "ascii_lowercase", false},
    {"-counted", false, "none", true}};

Competitor DeltabloomCompetitor(Layout layout, const Variant& variant,
                                double bits_per_key) {
  RocksDBFilterOptions options;
  options.layout = layout;
  options.bits_per_key = bits_per_key;
  options.seeded = variant.seeded;
  options.key_transform = variant.key_transform;
  options.statistics = variant.statistics;
  std::string error;
  const RocksDBPolicy policy = NewRocksDBFilterPolicy(options, &error);
  if (policy == nullptr) throw std::runtime_error(error);
  return OfPolicy(policy, SealedRate);
}

// Every layout of the table that RocksDB can store, and its variants.
std::vector<CompetitorEntry> DeltabloomCompetitors() {
  std::vector<CompetitorEntry> entries;
  for (const Variant& variant : kVariants) {
    for (const internal::LayoutRow* row : internal::kLayouts) {
      if (row->classic_hash != Hash::kMurmurHash2) continue;
      CompetitorEntry entry;
      entry.name = std::string("deltabloom-") + row->name + variant.suffix;
      entry.make = [layout = row->layout, variant](double bits_per_key) {
        return DeltabloomCompetitor(layout, variant, bits_per_key);
      };
      entry.only_named = *variant.suffix != '\0';
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace

const std::vector<CompetitorEntry>& AllCompetitors() {
  static const std::vector<CompetitorEntry> all = [] {
    std::vector<CompetitorEntry> entries;
    for (const auto& part : {RocksDBCompetitors(), NativeRocksDBCompetitors(),
                             LevelDBCompetitors(), DeltabloomCompetitors()}) {
      entries.insert(entries.end(), part.begin(), part.end());
    }
    return entries;
  }();
  return all;
}

}  // namespace deltabloom::bench
