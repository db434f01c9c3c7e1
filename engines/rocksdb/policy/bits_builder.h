// Builds sealed filters for RocksDB, one after the other.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_BUILDER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_BUILDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/policy/construction_charge.h"
#include "engines/rocksdb/policy/filter_bits.h"
#include "engines/rocksdb/policy/key_transforms.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/range/range_keys.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "table/framing.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

// What the builders of one policy know of each other. Builders own it together
// with the policy, for RocksDB does not say which of them it drops first.
struct SharedTally {
  // optimize_filters_for_memory: what the sizes rounded so far add up to, see
  // AllocateFilter().
  std::atomic<int64_t> rounding_balance{0};
  // What the LOG was told.
  std::atomic<bool> warned_of_many_keys{false};
  std::atomic<bool> told_of_lowered_bits{false};
  std::atomic<bool> told_of_no_filter{false};
  std::atomic<bool> told_of_missed_rate{false};
  std::atomic<bool> told_of_no_range_part{false};
};

// What a builder needs of its policy and of RocksDB's context.
struct BuilderSettings {
  const LayoutRow* layout = nullptr;
  // Of both parts together.
  uint32_t millibits_per_key = 0;
  // With a range part. By bits per key then, and without a key transform.
  bool range = false;
  // As in RocksDBFilterOptions. The rate, if not 0, comes before the bits.
  double false_positive_rate = 0;
  uint64_t max_build_bytes = 0;
  uint64_t max_filter_bytes = kUnlimited;
  KeyMapping mapping;
  SealOptions seal;                  // but for what the mapping says
  bool optimize_for_memory = false;  // optimize_filters_for_memory
  bool detect_corruption = false;
  // Where building is charged, or null.
  std::shared_ptr<ROCKSDB_NAMESPACE::Cache> charged_cache;
  ROCKSDB_NAMESPACE::Logger* log = nullptr;  // where to warn, if anywhere
  std::shared_ptr<SharedTally> tally = std::make_shared<SharedTally>();
  std::shared_ptr<PolicyStatistics> statistics;  // null: nothing is counted
};

// (AddKey* Finish MaybePostVerify?)*, by one thread at a time;
// EstimateEntriesAdded by any thread. Nothing throws: without memory, or when a
// key transform throws, the filter is one that matches every key. Hidden, as
// what it derives from, also in RocksDB's own build.
class __attribute__((visibility("hidden"))) BitsBuilder
    : public ROCKSDB_NAMESPACE::FilterBitsBuilder {
 public:
  using Slice = ROCKSDB_NAMESPACE::Slice;
  using Status = ROCKSDB_NAMESPACE::Status;

  explicit BitsBuilder(const BuilderSettings& settings);

  void AddKey(const Slice& key) override;
  // Before RocksDB 9.6.1 nothing in RocksDB calls it.
  void AddKeyAndAlt(const Slice& key, const Slice& alt)
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
      override
#endif
      ;
  size_t EstimateEntriesAdded() override;
  Slice Finish(std::unique_ptr<const char[]>* owner) override;
  Slice Finish(std::unique_ptr<const char[]>* owner, Status* status) override;
  Status MaybePostVerify(const Slice& filter) override;
  size_t ApproximateNumEntries(size_t bytes) override;
  size_t CalculateSpace(size_t entries) override;
  double EstimatedFpRate(size_t entries, size_t bytes) override;

 protected:
  // Tests reach in to damage them.
  HashList hashes_;

 private:
  // A hash kept for comparison, or none.
  struct LastHash {
    bool Is(uint64_t hash) const { return set && value == hash; }
    void Set(uint64_t hash) {
      set = true;
      value = hash;
    }

    bool set = false;
    uint64_t value = 0;
  };

  // What stands beside the payload of a filter, and what is left for that.
  struct Beside {
    std::string range_part;  // empty: none
    uint64_t size = 0;       // of the range part and the framing
    uint32_t millibits_per_key = 0;
  };

  bool HashOf(const Slice& key, uint64_t* hash);
  bool HashMapped(const Slice& key, uint64_t* hash);
  void AddHash(uint64_t hash);
  void Reset();
  // What is held now, and `more`, is charged.
  void Charge(uint64_t more = 0);
  Beside NothingBeside() const;
  Beside RangePartBeside(uint64_t range_part_size) const;
  bool BuildRangePart(Beside* beside);
  FilterBits BitsOf(const LayoutRow& row, uint64_t keys, const Beside& beside,
                    uint64_t max_filter_bytes) const;
  size_t SizeFor(uint64_t keys, bool limited) const;
  Slice Build(std::unique_ptr<const char[]>* owner);
  Slice BuildEmpty(std::unique_ptr<const char[]>* owner);
  // With no bytes if there can be none, or not with so much beside it.
  Slice BuildBeside(const Beside& beside, std::unique_ptr<const char[]>* owner);
  // With no bytes if the layout gave up.
  Slice BuildWith(const LayoutRow& row, uint32_t millibits_per_key,
                  const Beside& beside, std::unique_ptr<const char[]>* owner);
  Slice AlwaysMatch(std::unique_ptr<const char[]>* owner);
  bool HashesIntact() const;
  template <typename Warning>
  void WarnOnce(std::atomic<bool>* told, const Warning& warning) const;
  void WarnOfManyKeys() const;
  void TellOf(const FilterBits& bits) const;
  void TellOfNoRangePart(RangeKeys::State why) const;

  const BuilderSettings settings_;
  const SealOptions seal_;
  const bool maps_keys_;
  const double range_bits_per_key_;  // 0: no range part is asked for
  RangeKeys range_keys_;
  LastHash last_key_;
  LastHash last_alt_;
  uint64_t checksum_ = 0;   // of the hashes, if corruption is to be detected
  bool keys_lost_ = false;  // for lack of memory, or by a key transform
  std::atomic<size_t> entries_{0};
  // The last filter, for MaybePostVerify.
  HashList finished_hashes_;
  FilterKind finished_kind_ = FilterKind::kEmpty;
  uint64_t finished_range_hash_ = 0;
  KeyMapping::Space key_space_;
  ConstructionCharge charge_;
  uint64_t finished_bytes_ = 0;  // of filters, which RocksDB keeps for a while
  // Bytes of hashes_ and range_keys_ when they were last charged.
  uint64_t charged_hashes_ = 0;
  uint64_t charged_range_keys_ = 0;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_BITS_BUILDER_H_
