#include "engines/rocksdb/api/text.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/ranges/property.h"
#include "rocksdb/configurable.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/table_properties.h"

namespace deltabloom {
namespace internal {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::ColumnFamilyOptions;
using rocksdb::FilterPolicy;

rocksdb::ConfigOptions Strict() {
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  config.invoke_prepare_options = true;
  return config;
}

// OPTIONS files have braces around the text of an object.
std::string WithoutBraces(const std::string& text) {
  return text.size() > 1 && text.front() == '{' && text.back() == '}'
             ? text.substr(1, text.size() - 2)
             : text;
}

// Returns the object that RocksDB makes of the text. `kind` is for the error.
template <typename Base>
std::shared_ptr<Base> ObjectOfText(const std::string& text,
                                   std::string_view name, const char* kind) {
  std::shared_ptr<Base> object;
  const rocksdb::Status status =
      Base::CreateFromString(Strict(), WithoutBraces(text), &object);
  if (object != nullptr && object->Name() == name) {
    if (status.ok()) return object;
    // RocksDB's own words are around the line.
    const std::string line = status.ToString();
    const size_t ours = line.find("deltabloom: ");
    Require(ours == std::string::npos
                ? line
                : line.substr(ours + std::string_view("deltabloom: ").size()));
  }
  Require("'" + text + "' is no " + kind +
          " of Deltabloom: RocksDB takes it for " +
          (object == nullptr ? "none" : object->Name()) +
          (status.ok() ? "" : " (" + status.ToString() + ")"));
  return nullptr;
}

const BlockBasedTableOptions& TableOptionsOf(
    const ColumnFamilyOptions& family) {
  const auto* const table =
      family.table_factory == nullptr
          ? nullptr
          : family.table_factory->GetOptions<BlockBasedTableOptions>();
  if (table == nullptr) {
    Require(
        "the table factory is not that of block-based tables: use "
        "NewBlockBasedTableFactory");
  }
  return *table;
}

}  // namespace

std::shared_ptr<const FilterPolicy> PolicyOfText(const std::string& text) {
  return ObjectOfText<const FilterPolicy>(text, kPolicyName, "filter policy");
}

std::string FullText(const std::string& text) {
  if (WithoutBraces(text).find(kRangePropertyName) == std::string::npos) {
    return PolicyOfText(text)->ToString(Strict());
  }
  const auto collector = ObjectOfText<rocksdb::TablePropertiesCollectorFactory>(
      text, kRangePropertyName, "collector of range filters");
  // The class hides this function of its base by another.
  return static_cast<const rocksdb::Configurable&>(*collector)
      .ToString(Strict());
}

void SetPolicy(const std::shared_ptr<const FilterPolicy>& policy,
               ColumnFamilyOptions* family) {
  BlockBasedTableOptions changed = TableOptionsOf(*family);
  changed.filter_policy = policy;
  family->table_factory.reset(rocksdb::NewBlockBasedTableFactory(changed));
}

std::string PolicyTextOf(const ColumnFamilyOptions& family) {
  const auto& policy = TableOptionsOf(family).filter_policy;
  if (policy == nullptr)
    Require("there is no filter policy: tables get no filters");
  if (policy->Name() != std::string_view(kPolicyName)) {
    Require(std::string("the filter policy is not Deltabloom's, but ") +
            policy->Name());
  }
  return policy->ToString(Strict());
}

}  // namespace internal

std::string GetRocksDBFilters(const rocksdb::ColumnFamilyOptions& family,
                              std::string* error) {
  return internal::Catch(error, [&] { return internal::PolicyTextOf(family); });
}

std::string GetRocksDBFilters(rocksdb::DB* db,
                              rocksdb::ColumnFamilyHandle* family,
                              std::string* error) {
  return internal::Catch(error, [&] {
    return internal::PolicyTextOf(
        db->GetOptions(family == nullptr ? db->DefaultColumnFamily() : family));
  });
}

std::string CheckRocksDBText(const std::string& text, std::string* error) {
  return internal::Catch(error, [&] {
    internal::Register();
    return internal::FullText(text);
  });
}

}  // namespace deltabloom
