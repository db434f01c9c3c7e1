#include "engines/rocksdb/ranges/collector.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
#include "rocksdb/table_properties.h"
#include "rocksdb/utilities/options_type.h"
#include "util/json.h"
#include "util/range/filter_builder.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::UserCollectedProperties;

// The options of a factory, as OPTIONS files have them.
struct FactoryOptions {
  RocksDBRangeOptions ranges;
  // RocksDB would print and read a number in the format of the locale.
  std::string bits_per_key;
  std::string comparator;  // its name
  size_t timestamp_size = 0;
};

// RocksDB only logs the Status of AddUserKey and calls Finish all the same, so
// a collector that missed a key remembers why it has no filter.
class RangeCollector final : public rocksdb::TablePropertiesCollector {
 public:
  RangeCollector(std::shared_ptr<RangesState> state,
                 const std::string& comparator, size_t timestamp_size)
      : state_(std::move(state)),
        comparator_(comparator),
        timestamp_size_(timestamp_size) {
    const ParsedRangeOptions& options = state_->options;
    const auto order = options.FilterOrderOf(comparator_);
    if (order) {
      builder_.emplace(options.places, *order, options.bits_per_key);
    } else {
      problem_ = "the order of the comparator is not known";
    }
  }

  const char* Name() const override { return kRangePropertyName; }

  Status AddUserKey(const Slice& key, const Slice& /*value*/,
                    rocksdb::EntryType type, rocksdb::SequenceNumber /*seq*/,
                    uint64_t /*file_size*/) override {
    // Range tombstones come out of order, and apply whether or not the table is
    // skipped.
    if (!builder_ || type == rocksdb::kEntryRangeDeletion) return Status::OK();
    const char* problem = "a prefix function failed, or memory ran out";
    WithoutThrowing([&] { problem = AddKey(key.ToStringView()); });
    if (problem != nullptr) GiveUp(problem);
    return Status::OK();
  }

  // Before 9.0 RocksDB also calls it when it tells listeners of the table. They
  // get the property that the table has.
  Status Finish(UserCollectedProperties* properties) override {
    const bool written = WithoutThrowing([&] {
      if (builder_) BuildProperty();
      if (!property_.empty()) {
        properties->emplace(kRangePropertyName, property_);
      }
    });
    if (finished_) return Status::OK();
    finished_ = true;
    if (!written) {
      property_.clear();
      GiveUp(kOutOfMemory);
    }
    builder_.reset();
    RocksDBRangeStatistics built;
    (property_.empty() ? built.tables_built_without : built.filters_built) = 1;
    built.bytes_built = property_.size();
    state_->Count(&built);
    return Status::OK();
  }

  // For RocksDB's LOG, with the table.
  UserCollectedProperties GetReadableProperties() const override {
    UserCollectedProperties readable;
    WithoutThrowing([&] {
      std::string text = property_.empty()
                             ? "no range filter: " + problem_
                             : std::to_string(property_.size()) + " bytes";
      const std::string suggestion =
          state_->suggestion.Text(state_->options.places);
      if (!suggestion.empty()) text += "; " + suggestion;
      readable.emplace(kRangePropertyName, text);
    });
    return readable;
  }

 private:
  void GiveUp(const char* problem) {
    WithoutThrowing([&] { problem_ = problem; });
    builder_.reset();
  }

  // Returns why the filter would lack keys, or null.
  const char* AddKey(std::string_view key) {
    if (key.size() < timestamp_size_)
      return "a key is shorter than a timestamp";
    key.remove_suffix(timestamp_size_);
    const RegisteredTransform* const transform = state_->options.transform;
    if (transform != nullptr) {
      key = transform->transform.function(key, &transformed_);
    }
    if (!builder_->Add(key)) return "keys came out of order";
    ++entries_;
    const uint64_t most = state_->options.max_build_bytes;
    if (most != 0 && builder_->MemorySize() > most) {
      return "building it takes more than max_build_bytes";
    }
    return nullptr;
  }

  void BuildProperty() {
    const ParsedRangeOptions& options = state_->options;
    RangeProperty property;
    property.timestamp_size = timestamp_size_;
    if (options.transform != nullptr) {
      property.transform = options.transform->text;
    }
    property.comparator = comparator_;
    property.entries = entries_;
    std::string bytes = RangePropertyHeader(property);
    range::FilterBuilder::Limits limits;
    limits.bytes = options.max_table_bytes -
                   std::min<uint64_t>(bytes.size(), options.max_table_bytes);
    limits.build_bytes = options.max_build_bytes;
    problem_ = builder_->Finish(limits, &bytes);
    if (problem_.empty()) property_ = std::move(bytes);
  }

  const std::shared_ptr<RangesState> state_;
  const std::string comparator_;
  const size_t timestamp_size_;
  std::optional<range::FilterBuilder> builder_;  // nothing: it gave up
  KeyScratch transformed_;
  uint64_t entries_ = 0;
  bool finished_ = false;
  std::string problem_;   // why there is no filter
  std::string property_;  // empty: there is none
};

std::unordered_map<std::string, rocksdb::OptionTypeInfo> FactoryOptionInfos() {
  using Type = rocksdb::OptionType;
  using Options = FactoryOptions;
  const auto info = [](size_t offset, Type type) {
    return rocksdb::OptionTypeInfo(static_cast<int>(offset), type);
  };
  return {
      {"bits_per_key", info(offsetof(Options, bits_per_key), Type::kString)},
      {"prefixes", info(offsetof(Options, ranges.prefixes), Type::kString)},
      {"key_order", info(offsetof(Options, ranges.key_order), Type::kString)},
      {"max_table_bytes",
       info(offsetof(Options, ranges.max_table_bytes), Type::kUInt64T)},
      {"max_build_bytes",
       info(offsetof(Options, ranges.max_build_bytes), Type::kUInt64T)},
      {"key_transform",
       info(offsetof(Options, ranges.key_transform), Type::kString)},
      {"comparator", info(offsetof(Options, comparator), Type::kString)},
      {"timestamp_size",
       info(offsetof(Options, timestamp_size), Type::kSizeT)}};
}

class RangeCollectorFactory final
    : public rocksdb::TablePropertiesCollectorFactory {
 public:
  RangeCollectorFactory(std::shared_ptr<RangesState> state,
                        const rocksdb::Comparator& comparator)
      : state_(std::move(state)), comparator_(comparator.Name()) {
    // OPTIONS files cannot hold such a name. Tables that are built by their
    // options then may match.
    if (comparator_.find_first_of(" ;={}#\\\n") == std::string::npos) {
      options_.comparator = comparator_;
    }
    options_.timestamp_size = comparator.timestamp_size();
    PrintOptions();
    static const auto& infos = *new auto(FactoryOptionInfos());
    RegisterOptions("DeltabloomRangeOptions", &options_, &infos);
  }

  const char* Name() const override { return kRangePropertyName; }

  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
      Context /*context*/) override {
    // RocksDB uses the result without a check before 9.x.
    return new RangeCollector(state_, comparator_, options_.timestamp_size);
  }

  const RocksDBRangeOptions& options() const { return options_.ranges; }

 protected:
  // RocksDB does not call PrepareOptions for the collectors of a family.
  Status ConfigureOptions(
      const rocksdb::ConfigOptions& config,
      const std::unordered_map<std::string, std::string>& map,
      std::unordered_map<std::string, std::string>* unused) override {
    FactoryOptions before = options_;
    Status status =
        TablePropertiesCollectorFactory::ConfigureOptions(config, map, unused);
    if (!status.ok() || map.empty()) return status;
    std::string error = kOutOfMemory;
    WithoutThrowing([&] { error = UseOptions(); });
    if (error.empty()) return status;
    options_ = std::move(before);
    return Status::InvalidArgument(kRangePropertyName, error);
  }

 private:
  // Sets the options that are printed to those in use, with the version of the
  // key transform.
  void PrintOptions() {
    options_.ranges = state_->options;
    options_.bits_per_key = NumberText(options_.ranges.bits_per_key);
  }

  // Returns what is wrong with the options, or an empty text.
  std::string UseOptions() {
    if (!ParseNumber(options_.bits_per_key, &options_.ranges.bits_per_key)) {
      return "bits_per_key = " + options_.bits_per_key + " is no number";
    }
    ParsedRangeOptions parsed;
    const std::string error = parsed.Set(options_.ranges);
    if (!error.empty()) return error;
    state_ = std::make_shared<RangesState>(parsed);
    comparator_ = options_.comparator;
    PrintOptions();
    return {};
  }

  FactoryOptions options_;
  std::shared_ptr<RangesState> state_;
  std::string comparator_;
};

// RocksDB makes a factory by name: it has the defaults until it is configured.
std::unique_ptr<RangeCollectorFactory> NewFactoryByName() {
  return std::make_unique<RangeCollectorFactory>(
      std::make_shared<RangesState>(ParsedRangeOptions()),
      *rocksdb::BytewiseComparator());
}

}  // namespace

void AddRangeCollector(std::shared_ptr<RangesState> state,
                       rocksdb::ColumnFamilyOptions* family) {
  auto factory = std::make_shared<RangeCollectorFactory>(std::move(state),
                                                         *family->comparator);
  auto& factories = family->table_properties_collector_factories;
  // With two of them RocksDB would build each property twice and keep one.
  factories.erase(std::remove_if(factories.begin(), factories.end(),
                                 [](const auto& other) {
                                   return other != nullptr &&
                                          std::string_view(other->Name()) ==
                                              kRangePropertyName;
                                 }),
                  factories.end());
  factories.push_back(std::move(factory));
}

RocksDBRangeOptions ParseRangeOptions(const std::string& text) {
  const auto factory = NewFactoryByName();
  const Status status =
      factory->ConfigureFromString(rocksdb::ConfigOptions(), text);
  Require(status.ok() ? "" : status.ToString());
  return factory->options();
}

void RegisterRangeCollector(rocksdb::ObjectLibrary* library) {
  using Factory = rocksdb::TablePropertiesCollectorFactory;
  library->AddFactory<Factory>(
      kRangePropertyName,
      [](const std::string& /*uri*/, std::unique_ptr<Factory>* guard,
         std::string* error) {
        if (!WithoutThrowing([&] { *guard = NewFactoryByName(); })) {
          *error = kOutOfMemory;
        }
        return guard->get();
      });
}

}  // namespace deltabloom::internal
