#include "engines/rocksdb/policy/policy.h"

#include <cassert>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/policy/builder_warnings.h"
#include "engines/rocksdb/policy/live_options.h"
#include "engines/rocksdb/policy/memory_charge.h"
#include "engines/rocksdb/policy/policy_log.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "engines/rocksdb/policy/table_bits.h"
#include "engines/rocksdb/policy/transform_conflict.h"
#include "engines/rocksdb/statistics/statistics.h"
#include "rocksdb/env.h"
#include "table/framing.h"

namespace deltabloom::internal {
namespace {

using rocksdb::ConfigOptions;
using rocksdb::Status;

constexpr char kOwnCompatibilityName[] = "deltabloom.SealedFilter";

// Thread-safe. Once the policy is in use, its functions do not throw. If memory
// runs out they return no builder or reader, which RocksDB treats as "no
// filter" and "may match", or the Status MemoryLimit.
class SealedFilterPolicy final : public rocksdb::FilterPolicy {
 public:
  // `options` are a URI or PolicyOptions.
  template <typename Options>
  SealedFilterPolicy(Process* process, const Options& options)
      : process_(process), live_(process, options) {
    RegisterOptions(&live_, &LiveOptions::TypeInfos());
    AddPolicy(process, this, statistics_.get());
  }

  ~SealedFilterPolicy() override { RemovePolicy(process_, this); }

  const char* Name() const override { return kPolicyName; }

  const char* CompatibilityName() const override {
    return live_.Compatibility() == RocksDBCompatibility::kOwn
               ? kOwnCompatibilityName
               : builtin_->CompatibilityName();
  }

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    try {
      const PolicyOptions options = live_.Get();
      const uint32_t millibits_per_key = MillibitsOfTable(options, context);
      const bool builds = millibits_per_key >= kMinMillibitsPerKey &&
                          !options.TransformIsUnknown();
      log_.Write(options, live_.error(), CompatibilityName(),
                 builds && options.statistics ? statistics_.get() : nullptr,
                 context.info_log);
      if (!builds) return nullptr;
      HashedKeys keys;
      keys.seeded = options.seeded;
      if (keys.seeded && !RandomSeed(&keys.seed)) {
        rocksdb::Error(context.info_log,
                       "[deltabloom] the system gives no random bytes for a "
                       "seed: this table gets no filter");
        return nullptr;
      }
      BuilderSettings settings =
          SettingsFor(options, millibits_per_key,
                      {context.level_at_creation, context.is_bottommost},
                      KeyMapping(options.transform, keys));
      const rocksdb::BlockBasedTableOptions& table = context.table_options;
      settings.optimize_for_memory = table.optimize_filters_for_memory;
      settings.detect_corruption = table.detect_filter_construct_corruption;
      settings.charged_cache = CacheToCharge(table);
      settings.log = context.info_log;
      settings.warnings = warnings_;
      if (options.statistics) settings.statistics = statistics_;
      process_->policy_was_used = true;
      return new BitsBuilder(settings);
    } catch (const std::exception&) {
      return nullptr;  // out of memory: no filter
    }
  }

  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& filter) const override {
    try {
      process_->policy_was_used = true;
      const PolicyOptions options = live_.Get();
      // No filter can be queried without its transform. A reader of no bytes
      // answers "may match".
      if (options.TransformIsUnknown()) return NewSealedBitsReader({}, {});
      ReaderSettings reader;
      if (options.compatibility == RocksDBCompatibility::kBuiltin) {
        reader.builtin = builtin_.get();
      }
      reader.transform = options.transform;
      if (options.statistics) reader.statistics = statistics_;
      std::string mismatch;
      rocksdb::FilterBitsReader* const bits =
          NewSealedBitsReader(filter, reader, &mismatch);
      if (!mismatch.empty()) log_.KeepMismatch(std::move(mismatch));
      return bits;
    } catch (const std::exception&) {
      return nullptr;  // out of memory: RocksDB's reader says "may match"
    }
  }

  // These return the error in the text that the policy was made from.
  Status PrepareOptions(const ConfigOptions& config) override {
    return StatusOf([&] {
      const Status status = live_.Check();
      if (!status.ok()) return status;
      live_.BeginUse();
      return FilterPolicy::PrepareOptions(config);
    });
  }

  // RocksDB also calls this whenever a database is opened.
  Status ValidateOptions(
      const rocksdb::DBOptions& db,
      const rocksdb::ColumnFamilyOptions& family) const override {
    return StatusOf([&] {
      const Status status = live_.Check();
      if (!status.ok()) return status;
      std::string conflict;
      if (live_.Get().transform != nullptr)
        conflict = TransformConflict(family);
      if (!conflict.empty()) {
        return Status::InvalidArgument("deltabloom: " + conflict);
      }
      log_.RepeatConfiguration();
      return FilterPolicy::ValidateOptions(db, family);
    });
  }

 protected:
  // RocksDB's own would set the options one by one, and those already set may
  // conflict with others that are not set yet.
  Status ConfigureOptions(const ConfigOptions& config, const OptionMap& options,
                          OptionMap* /*unused*/) override {
    const Status status = live_.Set(options, config.ignore_unknown_options);
    return status.ok() && config.invoke_prepare_options ? PrepareOptions(config)
                                                        : status;
  }

 private:
  Process* const process_;
  LiveOptions live_;
  // Reads filters that are not Deltabloom's, and knows the name of RocksDB's.
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin_{
      rocksdb::NewBloomFilterPolicy(10)};
  const std::shared_ptr<BuilderWarnings> warnings_ =
      std::make_shared<BuilderWarnings>();
  const std::shared_ptr<PolicyStatistics> statistics_ =
      std::make_shared<PolicyStatistics>();
  mutable PolicyLog log_;
};

}  // namespace

std::unique_ptr<const rocksdb::FilterPolicy> NewPolicy(Process* process,
                                                       const std::string& uri) {
  assert(LibraryProblem().empty());
  return std::make_unique<SealedFilterPolicy>(process, uri);
}

std::unique_ptr<const rocksdb::FilterPolicy> NewPolicy(
    Process* process, const PolicyOptions& options) {
  assert(LibraryProblem().empty());
  assert(PolicyOptions().Set(options).empty());
  return std::make_unique<SealedFilterPolicy>(process, options);
}

}  // namespace deltabloom::internal
