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
#include "engines/rocksdb/policy/builder_warnings.h"
#include "engines/rocksdb/policy/corruption_check.h"
#include "engines/rocksdb/policy/filter_size.h"
#include "engines/rocksdb/policy/memory_charge.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "table/framing.h"
#include "util/hash_list.h"
#include "util/layouts/layout.h"

namespace deltabloom::internal {

// The settings of a builder. Members named like options of RocksDBFilterOptions
// have their meaning.
struct BuilderSettings {
  const LayoutRow* layout = nullptr;
  uint32_t millibits_per_key = 0;
  uint64_t max_filter_bytes = kUnlimited;
  uint64_t max_build_bytes = 0;
  KeyMapping mapping;
  SealOptions seal;  // its keys are those of the mapping

  // The members below follow from RocksDB's options, or the caller sets them.
  bool optimize_for_memory = false;  // optimize_filters_for_memory
  bool detect_corruption = false;
  // The cache to which building is charged, or null.
  std::shared_ptr<rocksdb::Cache> charged_cache;
  rocksdb::Logger* log = nullptr;  // for warnings; may be null
  std::shared_ptr<BuilderWarnings> warnings =
      std::make_shared<BuilderWarnings>();
  std::shared_ptr<PolicyStatistics> statistics;  // null: nothing is counted
};

// Returns the settings that follow from the options of a policy and from the
// bits, the level and the key mapping of a table. The policy and refilter both
// begin with these.
inline BuilderSettings SettingsFor(const PolicyOptions& options,
                                   uint32_t millibits_per_key,
                                   const LevelAtCreation& level,
                                   const KeyMapping& mapping) {
  BuilderSettings settings;
  settings.layout = FindLayout(options.layout);
  settings.millibits_per_key = millibits_per_key;
  settings.max_filter_bytes = options.max_filter_bytes;
  settings.max_build_bytes = options.max_build_bytes;
  settings.mapping = mapping;
  settings.seal.level_at_creation = LevelByte(level);
  settings.seal.payload_check = options.payload_check;
  settings.seal.keys = mapping.keys();
  return settings;
}

// (AddKey* Finish MaybePostVerify?)*, by one thread at a time;
// EstimateEntriesAdded by any thread. Nothing throws: without memory, or when a
// key transform throws, the filter is one that matches every key. Hidden, as
// what it derives from.
class __attribute__((visibility("hidden"))) BitsBuilder
    : public rocksdb::FilterBitsBuilder {
 public:
  using Slice = rocksdb::Slice;
  using Status = rocksdb::Status;

  explicit BitsBuilder(const BuilderSettings& settings)
      : hashes_(settings.layout->hash_size),
        settings_(settings),
        charge_(settings.charged_cache) {}

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
  // RocksDB uses it to decide where a partition ends.
  size_t ApproximateNumEntries(size_t bytes) override {
    return KeysWithin(settings_, bytes);
  }
  size_t CalculateSpace(size_t entries) override {
    return SealedSize(settings_, entries);
  }
  double EstimatedFpRate(size_t entries, size_t bytes) override;

 protected:
  // Protected because tests damage the hashes.
  HashList hashes_;

 private:
  // Returns 0 for a key that is lost.
  uint64_t HashOf(const Slice& key);
  uint64_t HashMapped(const Slice& key);
  void AddHash(uint64_t hash);
  // Charges what is held now, and `more`.
  void Charge(uint64_t more = 0);

  const BuilderSettings settings_;
  const bool maps_keys_ = !settings_.mapping.keys().AsTheyAre();
  // The hashes of the last key and prefix, for comparison.
  std::optional<uint64_t> last_key_;
  std::optional<uint64_t> last_alt_;
  bool keys_lost_ = false;  // for lack of memory, or by a key transform
  std::atomic<size_t> entries_{0};
  KeyMapping::Space key_space_;
  CorruptionCheck check_{settings_.layout->hash_size};
  uint64_t finished_bytes_ = 0;  // of filters, which RocksDB keeps for a while
  MemoryCharge charge_;
  uint64_t charged_hashes_ = 0;  // the bytes of hashes_ in charge_
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
// Deltabloom's magic go to the reader of `builtin`. They match every key if
// `builtin` is null, if a transform is set, or if there are at most 5 of them,
// for which RocksDB's reader would answer "absent". Filters of another key
// transform match every key, too; *mismatch, which may be null, then gets what
// follows "the filter". Throws std::bad_alloc.
rocksdb::FilterBitsReader* NewSealedBitsReader(const rocksdb::Slice& filter,
                                               const ReaderSettings& settings,
                                               std::string* mismatch = nullptr);

}  // namespace deltabloom::internal
