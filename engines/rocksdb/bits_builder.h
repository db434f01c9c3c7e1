// Builds sealed filters for RocksDB, one after the other.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_BITS_BUILDER_H_
#define DELTABLOOM_ENGINES_ROCKSDB_BITS_BUILDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engines/rocksdb/key_mapping.h"
#include "engines/rocksdb/private_abi.h"
#include "table/framing.h"
#include "util/hash_list.h"
#include "util/layout.h"

namespace deltabloom::internal {

// What the builders of one policy know of each other. Builders own it together
// with the policy, for RocksDB does not say which of them it drops first.
struct SharedTally {
  // optimize_filters_for_memory: what the sizes rounded so far add up to, see
  // AllocateFilter().
  std::atomic<int64_t> rounding_balance{0};
  std::atomic<bool> warned_of_many_keys{false};
};

// What a builder needs of its policy and of RocksDB's context.
struct BuilderSettings {
  const LayoutRow* layout = nullptr;
  uint32_t millibits_per_key = 0;
  uint64_t max_build_bytes = 0;  // as in RocksDBFilterOptions
  KeyMapping mapping;
  SealOptions seal;                  // but for what the mapping says
  bool optimize_for_memory = false;  // optimize_filters_for_memory
  bool detect_corruption = false;
  ROCKSDB_NAMESPACE::Logger* log = nullptr;  // where to warn, if anywhere
  std::shared_ptr<SharedTally> tally = std::make_shared<SharedTally>();
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

  bool HashOf(const Slice& key, uint64_t* hash);
  bool HashMapped(const Slice& key, uint64_t* hash);
  void AddHash(uint64_t hash);
  void Reset();
  Slice Build(std::unique_ptr<const char[]>* owner);
  Slice AlwaysMatch(std::unique_ptr<const char[]>* owner);
  bool HashesIntact() const;
  void WarnOfManyKeys() const;

  const BuilderSettings settings_;
  const SealOptions seal_;
  const size_t framing_size_;
  KeyMapping::Space key_space_;
  LastHash last_key_;
  LastHash last_alt_;
  uint64_t checksum_ = 0;   // of the hashes, if corruption is to be detected
  bool keys_lost_ = false;  // for lack of memory, or by a key transform
  std::atomic<size_t> entries_{0};
  // The last filter, for MaybePostVerify.
  HashList finished_hashes_;
  FilterKind finished_kind_ = FilterKind::kEmpty;
};

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_BITS_BUILDER_H_
