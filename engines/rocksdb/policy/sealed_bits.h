// Builds and reads sealed filters as RocksDB does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"
#include "table/framing.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

struct FilterBits {
  uint32_t millibits_per_key;  // 0: no filter
  bool lowered;                // to fit max_filter_bytes
};

// Returns the bits of a filter of `keys` keys with framing_size bytes around
// its payload, which are millibits_per_key where max_filter_bytes allows it.
// REQUIRES: keys is 1 or more.
FilterBits BitsFor(const LayoutRow& layout, uint64_t keys,
                   uint32_t millibits_per_key, uint64_t framing_size,
                   uint64_t max_filter_bytes);

struct FilterBuffer {
  Plan plan;
  std::unique_ptr<char[]> bytes;  // zeroed, for payload and framing
};

// Allocates a buffer of the size that the layout plans for the keys. With
// `grows` (RocksDB's optimize_filters_for_memory) the filter also takes what
// the allocator hands out beyond it, up to max_filter_bytes; it is never
// smaller. Throws std::bad_alloc.
FilterBuffer AllocateFilter(const LayoutRow& layout, uint64_t keys,
                            uint32_t millibits_per_key, uint64_t framing_size,
                            uint64_t max_filter_bytes, bool grows);

// Warnings that the LOG gets once for all builders of a policy.
enum class BuilderWarning : uint8_t {
  kManyKeys,
  kLoweredBits,
  kNoFilter,
  kCount,
};

// What the builders of a policy share. It is owned by them and by the policy,
// as RocksDB destroys them in any order.
struct SharedTally {
  std::atomic<bool> warned[static_cast<size_t>(BuilderWarning::kCount)] = {};
};

// How a filter is built where the policy's options leave it to RocksDB's, or to
// the caller.
struct BuildContext {
  bool optimize_for_memory = false;  // optimize_filters_for_memory
  bool detect_corruption = false;
  // The cache to which building is charged, or null.
  std::shared_ptr<rocksdb::Cache> charged_cache;
  rocksdb::Logger* log = nullptr;  // for warnings; may be null
  std::shared_ptr<SharedTally> tally = std::make_shared<SharedTally>();
  std::shared_ptr<PolicyStatistics> statistics;  // null: nothing is counted
};

// The settings of a builder. Members named like options of RocksDBFilterOptions
// have their meaning.
struct BuilderSettings : BuildContext {
  // With the fields that the mapping of the keys sets.
  SealOptions Framing() const;

  const LayoutRow* layout = nullptr;
  uint32_t millibits_per_key = 0;
  uint64_t max_filter_bytes = kUnlimited;
  uint64_t max_build_bytes = 0;
  KeyMapping mapping;
  SealOptions seal;  // see Framing()
};

// Returns the settings of a builder, complete: from a policy's options, the
// bits, the level and the mapping of the keys of a table, and the rest. Policy
// and refilter have theirs from here.
BuilderSettings SettingsFor(const PolicyOptions& options,
                            uint32_t millibits_per_key,
                            const LevelAtCreation& level,
                            const KeyMapping& mapping, BuildContext context);

// Returns the plan of the filter that a builder with these settings makes of
// `keys` keys, 1 or more; without a layout if it makes none.
Plan PlanSealed(const BuilderSettings& settings, uint64_t keys);

// (AddKey* Finish MaybePostVerify?)*, by one thread at a time;
// EstimateEntriesAdded by any thread. Nothing throws: without memory, or when a
// key transform throws, the filter is one that matches every key. The memory
// for building is charged to charged_cache as kWriteBuffer, in entries of 256
// KiB; a full cache with a strict limit is not charged. Hidden, as what it
// derives from.
class __attribute__((visibility("hidden"))) BitsBuilder
    : public rocksdb::FilterBitsBuilder {
 public:
  using Slice = rocksdb::Slice;
  using Status = rocksdb::Status;

  explicit BitsBuilder(const BuilderSettings& settings);

  void AddKey(const Slice& key) override;
  // Before RocksDB 9.6.1 nothing in RocksDB calls it.
  void AddKeyAndAlt(const Slice& key, const Slice& alt)
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
      override
#endif
      ;
  size_t EstimateEntriesAdded() override {
    return entries_.load(std::memory_order_relaxed);
  }
  Slice Finish(std::unique_ptr<const char[]>* owner) override {
    return Finish(owner, nullptr);
  }
  Slice Finish(std::unique_ptr<const char[]>* owner, Status* status) override;
  Status MaybePostVerify(const Slice& filter) override;
  size_t ApproximateNumEntries(size_t bytes) override;
  size_t CalculateSpace(size_t entries) override {
    return SizeFor(entries, settings_.max_filter_bytes);
  }
  double EstimatedFpRate(size_t entries, size_t bytes) override;

 protected:
  // Protected because tests damage the hashes.
  HashList hashes_;

 private:
  // 0 for a key that is lost.
  uint64_t HashOf(const Slice& key);
  uint64_t HashMapped(const Slice& key);
  void AddHash(uint64_t hash);
  // Charges what is held now, and `more`. Without memory for the change,
  // nothing is charged from then on.
  void Charge(uint64_t more = 0);
  FilterBits BitsOf(const LayoutRow& row, uint64_t keys,
                    uint64_t max_filter_bytes) const;
  size_t SizeFor(uint64_t keys, uint64_t max_filter_bytes) const;
  // These return a filter in built_, or no bytes if there can be none.
  Slice Build();
  Slice BuildWith(const LayoutRow& row, uint32_t millibits_per_key);
  Slice BuildEmpty();
  Slice AlwaysMatch();
  template <typename Message>
  void WarnOnce(BuilderWarning warning, const Message& message) const;
  void WarnOf(const FilterBits& bits) const;

  BuilderSettings settings_;
  const bool maps_keys_ = !settings_.mapping.keys().AsTheyAre();
  // The hashes of the last key and prefix, for comparison.
  std::optional<uint64_t> last_key_;
  std::optional<uint64_t> last_alt_;
  uint64_t checksum_ = 0;   // of the hashes, if corruption is to be detected
  bool keys_lost_ = false;  // for lack of memory, or by a key transform
  std::atomic<size_t> entries_{0};
  std::unique_ptr<char[]> built_;  // the memory of the filter

  // MaybePostVerify() compares these with the last filter.
  HashList finished_hashes_{settings_.layout->hash_size};
  FilterKind finished_kind_ = FilterKind::kEmpty;
  KeyMapping::Space key_space_;
  uint64_t finished_bytes_ = 0;  // of filters, which RocksDB keeps for a while
  std::unique_ptr<rocksdb::WriteBufferManager> charge_;  // null: no cache
  // Bytes that are charged, and of these hashes_.
  uint64_t charged_ = 0;
  uint64_t charged_hashes_ = 0;
};

struct ReaderSettings {
  // Reads filters that are not Deltabloom's; null: none does.
  const rocksdb::FilterPolicy* builtin = nullptr;
  // Only filters of this transform are queried; null: only those without a
  // transform.
  const RegisteredTransform* transform = nullptr;
  std::shared_ptr<PolicyStatistics> statistics;  // null: nothing is counted
};

// Returns a reader for any bytes, which must outlive it. Bytes without
// Deltabloom's magic go to the reader of `builtin`. Without it or with 5 bytes
// or less, for which RocksDB's reader answers "absent", they match every key.
// So do filters of another key transform; *mismatch, which may be null, then
// gets what follows "the filter". Throws std::bad_alloc.
rocksdb::FilterBitsReader* NewSealedBitsReader(const rocksdb::Slice& filter,
                                               const ReaderSettings& settings,
                                               std::string* mismatch = nullptr);

}  // namespace deltabloom::internal
