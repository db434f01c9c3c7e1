#include "engines/rocksdb/ranges/collector.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "deltabloom/key_transform.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/key_transforms.h"
#include "engines/rocksdb/ranges/property.h"
#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/comparator.h"
#include "rocksdb/utilities/options_type.h"
#include "util/range/filter_builder.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::UserCollectedProperties;

// RocksDB only logs the Status of AddUserKey and calls Finish all the same, so
// a collector that missed a key remembers that it has no filter.
class RangeCollector final : public rocksdb::TablePropertiesCollector {
 public:
  RangeCollector(std::shared_ptr<RangesState> state, size_t timestamp_size)
      : state_(std::move(state)),
        timestamp_size_(timestamp_size),
        builder_(state_->bits_per_key) {
    failed_ = state_->bits_per_key < kLeastRangeBitsPerKey ||
              timestamp_size > kMaxRangePropertyField ||
              !WithoutThrowing([this] { ChooseBy(*state_); });
  }

  const char* Name() const override { return kRangePropertyName; }

  Status AddUserKey(const Slice& key, const Slice& /*value*/,
                    rocksdb::EntryType type, rocksdb::SequenceNumber /*seq*/,
                    uint64_t /*file_size*/) override {
    // Range tombstones come out of order, and apply whether or not the table is
    // skipped.
    if (failed_ || type == rocksdb::kEntryRangeDeletion) return Status::OK();
    bool added = false;
    if (key.size() >= timestamp_size_) {
      WithoutThrowing([&] {
        added =
            AddKey(key.ToStringView().substr(0, key.size() - timestamp_size_));
      });
    }
    if (!added) {
      failed_ = true;
      builder_.Clear();
    }
    return Status::OK();
  }

  // Before 9.0 RocksDB calls it again whenever it tells listeners of the table:
  // they get what the table has.
  Status Finish(UserCollectedProperties* properties) override {
    const bool first = !finished_;
    finished_ = true;
    const bool written = WithoutThrowing([&] {
      if (first) BuildProperty();
      if (!property_.empty())
        properties->emplace(kRangePropertyName, property_);
    });
    if (!first) return Status::OK();
    if (!written) property_.clear();
    auto& counters = state_->counters;
    (property_.empty() ? counters.tables_built_without : counters.filters_built)
        .fetch_add(1, std::memory_order_relaxed);
    counters.bytes_built.fetch_add(property_.size(), std::memory_order_relaxed);
    return Status::OK();
  }

  // For RocksDB's LOG.
  UserCollectedProperties GetReadableProperties() const override {
    UserCollectedProperties readable;
    WithoutThrowing([&] {
      readable.emplace(kRangePropertyName,
                       std::to_string(property_.size()) + " bytes");
    });
    return readable;
  }

 private:
  void ChooseBy(const RangesState& state) {
    if (!state.options.cuts.empty()) {
      builder_.SetCuts(state.options.cuts);
    } else if (state.options.learning) {
      for (const auto& [lower, upper] : state.samples.Get()) {
        builder_.AddSample(lower, upper);
      }
      builder_.SetLearnedCuts(state.earlier_cuts.Get());
    }
  }

  // False if the filter would lack keys, or takes too much memory to build.
  bool AddKey(std::string_view key) {
    const RegisteredTransform* const transform = state_->options.transform;
    if (transform != nullptr) {
      key = transform->transform.function(key, &transformed_);
    }
    builder_.AddKey(key);
    ++entries_;
    // The builder gives up if keys do not ascend bytewise.
    const uint64_t most = state_->options.max_build_bytes;
    return builder_.KeysAdded() != 0 &&
           (most == 0 || builder_.EstimatedBuildBytes() <= most);
  }

  void BuildProperty() {
    const uint64_t keys = builder_.KeysAdded();
    if (failed_ || keys == 0) return;
    RangeProperty property;
    property.timestamp_size = timestamp_size_;
    if (state_->options.transform != nullptr) {
      property.transform = state_->options.transform->text;
    }
    property.entries = entries_;
    std::string bytes = RangePropertyHeader(property);
    // The bytes that a property takes beside the bits of its keys.
    const uint64_t fixed_bytes = bytes.size() + range::kFilterFreeBytes;
    const uint64_t most = state_->options.max_table_bytes;
    const double bits_that_fit =
        8 * static_cast<double>(most - std::min(fixed_bytes, most)) /
        static_cast<double>(keys);
    if (bits_that_fit < kLeastRangeBitsPerKey) return builder_.Clear();
    builder_.LimitBits(bits_that_fit);
    if (builder_.Finish(&bytes)) property_ = std::move(bytes);
  }

  const std::shared_ptr<RangesState> state_;
  const size_t timestamp_size_;
  range::FilterBuilder builder_;
  KeyScratch transformed_;
  uint64_t entries_ = 0;
  bool failed_ = false;
  bool finished_ = false;
  std::string property_;  // empty: there is none
};

// Options by which OPTIONS files configure the factory.
struct FactoryOptions {
  RocksDBRangeOptions ranges;
  size_t timestamp_size = 0;
};

std::unordered_map<std::string, rocksdb::OptionTypeInfo> FactoryOptionInfos() {
  using Type = rocksdb::OptionType;
  using Options = FactoryOptions;
  const auto info = [](size_t offset, Type type) {
    return rocksdb::OptionTypeInfo(static_cast<int>(offset), type);
  };
  return {
      {"bits_per_key",
       info(offsetof(Options, ranges.bits_per_key), Type::kDouble)},
      {"learning", info(offsetof(Options, ranges.learning), Type::kBoolean)},
      {"range_prefixes",
       info(offsetof(Options, ranges.range_prefixes), Type::kString)},
      {"max_table_bytes",
       info(offsetof(Options, ranges.max_table_bytes), Type::kUInt64T)},
      {"max_memory",
       info(offsetof(Options, ranges.max_memory), Type::kUInt64T)},
      {"max_build_bytes",
       info(offsetof(Options, ranges.max_build_bytes), Type::kUInt64T)},
      {"key_transform",
       info(offsetof(Options, ranges.key_transform), Type::kString)},
      {"timestamp_size",
       info(offsetof(Options, timestamp_size), Type::kSizeT)}};
}

class RangeCollectorFactory final
    : public rocksdb::TablePropertiesCollectorFactory {
 public:
  // RocksDB makes a factory by name: it has the defaults until it is
  // configured.
  RangeCollectorFactory()
      : state_(std::make_shared<RangesState>(ParsedRangeOptions())),
        by_name_(true) {
    Register();
  }

  RangeCollectorFactory(std::shared_ptr<RangesState> state,
                        size_t timestamp_size)
      : state_(std::move(state)), by_name_(false) {
    options_.ranges = state_->options;
    options_.timestamp_size = timestamp_size;
    Register();
  }

  const char* Name() const override { return kRangePropertyName; }

  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
      Context /*context*/) override {
    // RocksDB uses the result without a check before 9.x.
    return new RangeCollector(state_, options_.timestamp_size);
  }

  const RocksDBRangeOptions& options() const { return options_.ranges; }

 protected:
  // RocksDB does not call PrepareOptions for the collectors of a family.
  Status ConfigureOptions(
      const rocksdb::ConfigOptions& config,
      const std::unordered_map<std::string, std::string>& map,
      std::unordered_map<std::string, std::string>* unused) override {
    Status status =
        TablePropertiesCollectorFactory::ConfigureOptions(config, map, unused);
    if (!status.ok() || map.empty()) return status;
    status = Status::MemoryLimit();
    WithoutThrowing([&] { status = MakeState(); });
    return status;
  }

 private:
  void Register() {
    static const auto& infos = *new auto(FactoryOptionInfos());
    RegisterOptions("DeltabloomRangeOptions", &options_, &infos);
  }

  Status MakeState() {
    ParsedRangeOptions parsed;
    const std::string error = by_name_ ? parsed.Set(options_.ranges)
                                       : "RocksDBRanges has fixed its options";
    if (error.empty()) state_ = std::make_shared<RangesState>(parsed);
    // Options are printed with the version of the key transform.
    options_.ranges = state_->options;
    if (error.empty()) return Status::OK();
    return Status::InvalidArgument(std::string(kRangePropertyName) + ": " +
                                   error);
  }

  FactoryOptions options_;
  std::shared_ptr<RangesState> state_;
  const bool by_name_;
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory>
NewRangeCollectorFactory(std::shared_ptr<RangesState> state,
                         size_t timestamp_size) {
  return std::make_shared<RangeCollectorFactory>(std::move(state),
                                                 timestamp_size);
}

void ReplaceRangeCollector(
    std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> factory,
    rocksdb::ColumnFamilyOptions* family) {
  auto& factories = family->table_properties_collector_factories;
  const auto is_ours = [](const auto& other) {
    return other != nullptr &&
           std::string_view(other->Name()) == kRangePropertyName;
  };
  const auto ours = std::find_if(factories.begin(), factories.end(), is_ours);
  if (ours == factories.end()) return factories.push_back(std::move(factory));
  *ours = std::move(factory);
  // Two would build everything twice, of which RocksDB keeps one.
  factories.erase(std::remove_if(ours + 1, factories.end(), is_ours),
                  factories.end());
}

RocksDBRangeOptions ParseRangeOptions(const std::string& text) {
  RangeCollectorFactory factory;
  const Status status =
      factory.ConfigureFromString(rocksdb::ConfigOptions(), text);
  Require(status.ok() ? "" : status.ToString());
  return factory.options();
}

void RegisterRangeCollector(rocksdb::ObjectLibrary* library) {
  using Factory = rocksdb::TablePropertiesCollectorFactory;
  library->AddFactory<Factory>(
      kRangePropertyName,
      [](const std::string& /*uri*/, std::unique_ptr<Factory>* guard,
         std::string* error) {
        if (!WithoutThrowing(
                [&] { *guard = std::make_unique<RangeCollectorFactory>(); })) {
          *error = kOutOfMemory;
        }
        return guard->get();
      });
}

}  // namespace deltabloom::internal
