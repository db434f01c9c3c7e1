#include "engines/rocksdb/ranges/collector.h"

#include <algorithm>
#include <atomic>
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
#include "rocksdb/utilities/options_type.h"
#include "util/json.h"
#include "util/range/filter_builder.h"
#include "util/range/key_range.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;
using rocksdb::Status;
using rocksdb::UserCollectedProperties;

// What the keys of a table are.
struct TableKeys {
  std::string comparator;             // its name
  std::optional<range::Order> order;  // of the filter
  size_t timestamp_size = 0;
};

// RocksDB only logs the Status of AddUserKey and calls Finish all the same, so
// a collector that missed a key remembers why it has no filter.
class RangeCollector final : public rocksdb::TablePropertiesCollector {
 public:
  RangeCollector(std::shared_ptr<RangesState> state, const TableKeys& keys)
      : state_(std::move(state)), keys_(keys) {
    if (!keys_.order) {
      GiveUp("the order of the comparator is not known");
    } else if (!WithoutThrowing([this] {
                 builder_ = std::make_unique<range::FilterBuilder>(
                     state_->options.places, *keys_.order,
                     state_->options.bits_per_key);
               })) {
      GiveUp(kOutOfMemory);
    }
  }

  const char* Name() const override { return kRangePropertyName; }

  Status AddUserKey(const Slice& key, const Slice& /*value*/,
                    rocksdb::EntryType type, rocksdb::SequenceNumber /*seq*/,
                    uint64_t /*file_size*/) override {
    // Range tombstones come out of order, and apply whether or not the table is
    // skipped.
    if (builder_ == nullptr || type == rocksdb::kEntryRangeDeletion) {
      return Status::OK();
    }
    const char* problem = "a prefix function failed, or memory ran out";
    WithoutThrowing([&] { problem = AddKey(key.ToStringView()); });
    if (problem != nullptr) GiveUp(problem);
    return Status::OK();
  }

  // Before 9.0 RocksDB calls it again whenever it tells listeners of the table:
  // they get what the table has.
  Status Finish(UserCollectedProperties* properties) override {
    const bool first = !finished_;
    finished_ = true;
    const bool written = WithoutThrowing([&] {
      if (first && builder_ != nullptr) BuildProperty();
      if (!property_.empty()) {
        properties->emplace(kRangePropertyName, property_);
      }
    });
    if (!first) return Status::OK();
    if (!written) {
      GiveUp(kOutOfMemory);
      property_.clear();
    }
    builder_.reset();
    auto& counters = state_->counters;
    (property_.empty() ? counters.tables_built_without : counters.filters_built)
        .fetch_add(1, std::memory_order_relaxed);
    counters.bytes_built.fetch_add(property_.size(), std::memory_order_relaxed);
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
    if (key.size() < keys_.timestamp_size)
      return "a key is shorter than a timestamp";
    key.remove_suffix(keys_.timestamp_size);
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
    RangeProperty property;
    property.timestamp_size = keys_.timestamp_size;
    if (state_->options.transform != nullptr) {
      property.transform = state_->options.transform->text;
    }
    property.comparator = keys_.comparator;
    property.entries = entries_;
    std::string bytes = RangePropertyHeader(property);
    range::FilterBuilder::Limits limits;
    const uint64_t most = state_->options.max_table_bytes;
    limits.bytes = most - std::min<uint64_t>(bytes.size(), most);
    limits.build_bytes = state_->options.max_build_bytes;
    problem_ = builder_->Finish(limits, &bytes);
    if (problem_.empty()) property_ = std::move(bytes);
  }

  const std::shared_ptr<RangesState> state_;
  const TableKeys keys_;
  std::unique_ptr<range::FilterBuilder> builder_;  // null: it gave up
  KeyScratch transformed_;
  uint64_t entries_ = 0;
  bool finished_ = false;
  std::string problem_;   // why there is no filter
  std::string property_;  // empty: there is none
};

// Options by which OPTIONS files configure the factory.
struct FactoryOptions {
  RocksDBRangeOptions ranges;
  // RocksDB would print and read a number in the format of the locale.
  std::string bits_per_key = NumberText(RocksDBRangeOptions().bits_per_key);
  std::string comparator = rocksdb::BytewiseComparator()->Name();
  size_t timestamp_size = 0;
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
  // RocksDB makes a factory by name: it has the defaults until it is
  // configured.
  RangeCollectorFactory() : by_name_(true) {
    Register();
    MakeState();
  }

  RangeCollectorFactory(std::shared_ptr<RangesState> state,
                        const rocksdb::Comparator& comparator)
      : state_(std::move(state)),
        keys_{comparator.Name(), state_->FilterOrderOf(comparator),
              comparator.timestamp_size()},
        by_name_(false) {
    PrintOptions();
    // A name that OPTIONS files cannot hold is none: such tables may match.
    if (keys_.comparator.find_first_of(" ;={}#\\\n") == std::string::npos) {
      options_.comparator = keys_.comparator;
    } else {
      options_.comparator.clear();
    }
    options_.timestamp_size = keys_.timestamp_size;
    Register();
  }

  const char* Name() const override { return kRangePropertyName; }

  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
      Context /*context*/) override {
    // RocksDB uses the result without a check before 9.x.
    return new RangeCollector(state_, keys_);
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
    WithoutThrowing([&] {
      const std::string error =
          by_name_ ? MakeState() : "RocksDBRanges has fixed its options";
      status = error.empty()
                   ? Status::OK()
                   : Status::InvalidArgument(std::string(kRangePropertyName) +
                                             ": " + error);
      if (!error.empty()) PrintOptions();
    });
    return status;
  }

 private:
  void Register() {
    static const auto& infos = *new auto(FactoryOptionInfos());
    RegisterOptions("DeltabloomRangeOptions", &options_, &infos);
  }

  // Sets the options that are printed to those in use, with the version of the
  // key transform.
  void PrintOptions() {
    options_.ranges = state_->options;
    options_.bits_per_key = NumberText(options_.ranges.bits_per_key);
  }

  // Returns what is wrong with the options, or an empty text.
  std::string MakeState() {
    if (!ParseNumber(options_.bits_per_key, &options_.ranges.bits_per_key)) {
      return "bits_per_key = " + options_.bits_per_key + " is no number";
    }
    if (options_.comparator.size() > kMaxRangePropertyField ||
        options_.timestamp_size > kMaxRangePropertyField) {
      return "comparator or timestamp_size is longer than 255 bytes";
    }
    ParsedRangeOptions parsed;
    const std::string error = parsed.Set(options_.ranges);
    if (!error.empty()) return error;
    state_ = std::make_shared<RangesState>(parsed);
    keys_.comparator = options_.comparator;
    keys_.timestamp_size = options_.timestamp_size;
    keys_.order = parsed.order ? parsed.order : KnownOrder(keys_.comparator);
    if (parsed.transform != nullptr) keys_.order = range::Order::kBytewise;
    PrintOptions();
    return {};
  }

  FactoryOptions options_;
  std::shared_ptr<RangesState> state_;
  TableKeys keys_;
  const bool by_name_;
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory>
NewRangeCollectorFactory(std::shared_ptr<RangesState> state,
                         const rocksdb::Comparator& comparator) {
  return std::make_shared<RangeCollectorFactory>(std::move(state), comparator);
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
