// Everything that is compared, behind RocksDB's own interface: a builder and a
// reader with virtual functions. So all of them pay for the same calls.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COMPETITOR_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COMPETITOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::bench {

using rocksdb::FilterBitsBuilder;
using rocksdb::FilterBitsReader;
using rocksdb::Slice;

// A way to make filters, at fixed bits per key. Thread-safe.
class Competitor {
 public:
  virtual ~Competitor() = default;

  virtual std::unique_ptr<FilterBitsBuilder> NewBuilder() const = 0;

  // The bytes must outlive the reader.
  virtual std::unique_ptr<FilterBitsReader> NewReader(
      const Slice& filter) const = 0;

  // The false-positive rate that the layout's mathematics gives for a filter
  // of `keys` keys, if they are known.
  virtual std::optional<double> TheoreticalRate(const Slice& filter,
                                                uint64_t keys) const = 0;

  // What a database is opened with; null if RocksDB has no such policy.
  virtual std::shared_ptr<const rocksdb::FilterPolicy> Policy() const {
    return nullptr;
  }
};

// What a RocksDB policy builds and reads.
class PolicyCompetitor : public Competitor {
 public:
  explicit PolicyCompetitor(std::shared_ptr<const rocksdb::FilterPolicy> policy)
      : policy_(std::move(policy)) {}

  std::unique_ptr<FilterBitsBuilder> NewBuilder() const final;
  std::unique_ptr<FilterBitsReader> NewReader(const Slice& filter) const final;
  std::shared_ptr<const rocksdb::FilterPolicy> Policy() const final {
    return policy_;
  }

 private:
  std::shared_ptr<const rocksdb::FilterPolicy> policy_;
};

struct CompetitorEntry {
  std::string name;
  // Not a filter but a lower bound: what any filter has to pay for. Floors have
  // no builder.
  bool is_floor = false;
  // A RocksDB database can be opened with it.
  bool has_policy = false;
  // An upper estimate of the temporary memory of a build.
  std::function<double(size_t key_size)> build_bytes_per_key;
  // Throws std::runtime_error if it cannot be had here.
  std::function<std::unique_ptr<Competitor>(double bits_per_key)> make;
  // Takes part only where its name is given.
  bool only_named = false;
};

// All, floors last, in the order of tables.
const std::vector<CompetitorEntry>& AllCompetitors();

// The entries of the parts, defined beside them.
std::vector<CompetitorEntry> RocksDBCompetitors();
std::vector<CompetitorEntry> NativeRocksDBCompetitors();  // none without AVX2
std::vector<CompetitorEntry> LevelDBCompetitors();
std::vector<CompetitorEntry> NaiveCompetitors();
std::vector<CompetitorEntry> DeltabloomCompetitors();
std::vector<CompetitorEntry> LevelDBAdapters();  // Deltabloom's for LevelDB
std::vector<CompetitorEntry> Floors();

// What a builder outside RocksDB need not know to be measured.
class PlainBuilder : public FilterBitsBuilder {
 public:
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const Slice& key, const Slice& alt) final;
#endif
  size_t EstimateEntriesAdded() final { return 0; }
  using FilterBitsBuilder::Finish;
  Slice Finish(std::unique_ptr<const char[]>* owner,
               rocksdb::Status* status) final;
  rocksdb::Status MaybePostVerify(const Slice& filter) final;
  size_t ApproximateNumEntries(size_t) final { return 0; }
  size_t CalculateSpace(size_t) final { return 0; }
  double EstimatedFpRate(size_t, size_t) final { return 0; }
};

// The batch of a reader that has no better way than one by one.
class OneByOneReader : public FilterBitsReader {
 public:
  using FilterBitsReader::MayMatch;
  void MayMatch(int n, Slice** keys, bool* may_match) override;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_COMPETITOR_H_
