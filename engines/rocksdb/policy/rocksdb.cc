#include "deltabloom/rocksdb.h"

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "engines/rocksdb/levels/levels_json.h"
#include "engines/rocksdb/levels/tree_listener.h"
#include "engines/rocksdb/policy/library_check.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/print_once.h"
#include "engines/rocksdb/policy/register.h"
#include "engines/rocksdb/policy/settings.h"
#include "engines/rocksdb/policy/settings_fields.h"
#include "engines/rocksdb/range/range_check.h"
#include "engines/rocksdb/range/range_extractor.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "util/number_text.h"
#include "util/rates/layout_rates.h"

namespace deltabloom {
namespace {

using internal::SealedFilterPolicy;
using ROCKSDB_NAMESPACE::BlockBasedTableOptions;
using ROCKSDB_NAMESPACE::ColumnFamilyOptions;
using ROCKSDB_NAMESPACE::DBOptions;
using ROCKSDB_NAMESPACE::EventListener;
using ROCKSDB_NAMESPACE::FilterPolicy;
using ROCKSDB_NAMESPACE::ObjectLibrary;
using ROCKSDB_NAMESPACE::SliceTransform;
using ROCKSDB_NAMESPACE::TableFactory;

// A line to *error, or else to standard error.
void TellLine(const char* line, std::string* error) noexcept {
  if (error == nullptr) {
    internal::PrintOnce(line);
    return;
  }
  try {
    *error = line;
  } catch (const std::exception&) {
    *error = internal::kOutOfMemory;
  }
}

// "deltabloom: <what>", or what there is memory for.
void SetError(const char* what, std::string* error) noexcept {
  try {
    TellLine((std::string("deltabloom: ") + what).c_str(), error);
  } catch (const std::exception&) {
    TellLine(internal::kOutOfMemory, error);
  }
}

// The factory RocksDB calls with a URI: a policy in *guard, or null with a text
// in *error. Parsing table options RocksDB drops that text and goes on with no
// filter, so a policy with a wrong URI is made, and refused when it is
// prepared.
const FilterPolicy* CreatePolicy(const std::string& uri,
                                 std::unique_ptr<const FilterPolicy>* guard,
                                 std::string* error) {
  try {
    auto policy = std::make_unique<SealedFilterPolicy>();
    const std::string problem = internal::ParseUri(uri, &policy->settings());
    if (!problem.empty()) {
      policy->settings().problem = internal::Report(problem);
    }
    *guard = std::move(policy);
    return guard->get();
  } catch (const std::exception&) {
    SetError(internal::kOutOfMemory, error);
    return nullptr;
  }
}

// False with *error set if the RocksDB library does not fit.
bool Fits(std::string* error) {
  const std::string& problem = internal::LibraryProblem();
  if (!problem.empty()) TellLine(problem.c_str(), error);
  return problem.empty();
}

// Gives *family what ranges need; one line about what does not go with them, or
// nothing.
std::string PrepareForRanges(const RocksDBFilterOptions& options,
                             ColumnFamilyOptions* family) {
  if (options.range) {
    if (family->prefix_extractor == nullptr) {
      const std::string conflict = internal::RangeConflict(*family, true);
      if (!conflict.empty()) return conflict;
      family->prefix_extractor = std::make_shared<internal::RangeExtractor>();
    }
    if (internal::AsRangeExtractor(family->prefix_extractor.get()) == nullptr) {
      return std::string("prefix_extractor ") +
             family->prefix_extractor->Name() + " is set, and range=on needs " +
             internal::kRangeExtractorName +
             " in its place: reset it, or do without ranges";
    }
  }
  return internal::RangeConflict(*family, options.range);
}

void Register() {
  static std::once_flag once;
  std::call_once(once,
                 [] { internal::AddFactories(*ObjectLibrary::Default()); });
}

}  // namespace

namespace internal {

int AddFactories(ObjectLibrary& library) {
  // One pattern takes every URI of ours, so that the factory judges them all:
  // with narrower patterns a misspelt URI is silently no policy.
  library.AddFactory<const FilterPolicy>(
      ObjectLibrary::PatternEntry(kPolicyName, /*optional=*/true)
          .AddSeparator(":", /*at_least_one=*/false),
      CreatePolicy);
  library.AddFactory<EventListener>(
      kPolicyName, [](const std::string&, std::unique_ptr<EventListener>* guard,
                      std::string* error) {
        guard->reset(new (std::nothrow) TreeListener);
        if (*guard == nullptr) SetError(kOutOfMemory, error);
        return guard->get();
      });
  library.AddFactory<const SliceTransform>(
      kRangeExtractorName,
      [](const std::string&, std::unique_ptr<const SliceTransform>* guard,
         std::string* error) {
        try {
          guard->reset(new RangeExtractor);
        } catch (const std::exception&) {
          SetError(kOutOfMemory, error);
        }
        return guard->get();
      });
  return 3;
}

}  // namespace internal

std::string RocksDBFilterOptions::Validate() const {
  FilterOptions core;
  core.bits_per_key = bits_per_key;
  core.layout = layout;
  core.max_build_bytes = max_build_bytes;
  std::string problem = core.Validate();
  if (!problem.empty()) return problem;
  const std::string rate =
      "false_positive_rate = " + internal::RateText(false_positive_rate);
  if (false_positive_rate != 0 && !internal::ValidRate(false_positive_rate)) {
    return rate + " is out of range: " + internal::kLegalRates;
  }
  if (false_positive_rate != 0 &&
      bits_per_key != RocksDBFilterOptions().bits_per_key) {
    return "bits_per_key = " + internal::NumberText(bits_per_key) + " and " +
           rate + " are both given: use one of them";
  }
  if (max_filter_bytes == 0) {
    return "max_filter_bytes = 0 leaves no room for a filter: use more, or "
           "kUnlimited for no limit";
  }
  if (allocation != RocksDBAllocation::kUniform &&
      allocation != RocksDBAllocation::kLevels) {
    return "allocation " + std::to_string(static_cast<int>(allocation)) +
           " is unknown: use RocksDBAllocation::kUniform or kLevels";
  }
  const std::string conflict = internal::RangeConflictIn(
      range, key_transform != internal::kNoTransform, false_positive_rate != 0);
  if (!conflict.empty()) return conflict;
  return internal::KeyTransformProblem(key_transform);
}

std::shared_ptr<const FilterPolicy> NewRocksDBFilterPolicy(
    const RocksDBFilterOptions& options, std::string* error) {
  try {
    if (!Fits(error)) return nullptr;
    const std::string problem = options.Validate();
    if (!problem.empty()) {
      SetError(problem.c_str(), error);
      return nullptr;
    }
    auto policy = std::make_unique<SealedFilterPolicy>();
    internal::SetSettings(options, &policy->settings());
    if (options.range) internal::RangeProblem();  // tries it out
    policy->settings().made = true;
    // From RocksDB 9.8 on SetOptions makes a new policy, by name.
    Register();
    return policy;
  } catch (const std::exception&) {
    SetError(internal::kOutOfMemory, error);
    return nullptr;
  }
}

std::shared_ptr<EventListener> NewRocksDBFilterListener(std::string* error) {
  if (!RegisterRocksDB(error)) return nullptr;
  try {
    return std::make_shared<internal::TreeListener>();
  } catch (const std::exception&) {
    SetError(internal::kOutOfMemory, error);
    return nullptr;
  }
}

bool AddRocksDBFilters(const RocksDBFilterOptions& options, DBOptions* db,
                       ColumnFamilyOptions* family, std::string* error) {
  try {
    const auto* table =
        family->table_factory == nullptr
            ? nullptr
            : family->table_factory->GetOptions<BlockBasedTableOptions>();
    if (table == nullptr) {
      SetError(
          "the table factory is not that of block-based tables: use "
          "NewBlockBasedTableFactory",
          error);
      return false;
    }
    ColumnFamilyOptions with = *family;
    const std::string conflict = PrepareForRanges(options, &with);
    if (!conflict.empty()) {
      SetError(conflict.c_str(), error);
      return false;
    }
    BlockBasedTableOptions changed = *table;
    changed.filter_policy = NewRocksDBFilterPolicy(options, error);
    if (changed.filter_policy == nullptr) return false;
    std::shared_ptr<TableFactory> factory(NewBlockBasedTableFactory(changed));
    if (db != nullptr && !internal::HasTreeListener(db->listeners)) {
      db->listeners.push_back(std::make_shared<internal::TreeListener>());
    }
    family->table_factory = std::move(factory);
    family->prefix_extractor = std::move(with.prefix_extractor);
    return true;
  } catch (const std::exception&) {
    SetError(internal::kOutOfMemory, error);
    return false;
  }
}

std::shared_ptr<const SliceTransform> NewRocksDBRangeExtractor(
    std::string* error) {
  if (!RegisterRocksDB(error)) return nullptr;
  try {
    return std::make_shared<internal::RangeExtractor>();
  } catch (const std::exception&) {
    SetError(internal::kOutOfMemory, error);
    return nullptr;
  }
}

bool CheckRocksDBFilters(const ColumnFamilyOptions& family,
                         std::string* error) {
  try {
    if (family.table_factory == nullptr) {
      SetError("there is no table factory", error);
      return false;
    }
    const ROCKSDB_NAMESPACE::Status status =
        family.table_factory->ValidateOptions(DBOptions(), family);
    if (!status.ok() && error != nullptr) *error = status.ToString();
    return status.ok();
  } catch (const std::exception&) {
    SetError(internal::kOutOfMemory, error);
    return false;
  }
}

std::string RocksDBFilterLevelsJson() { return internal::LevelsJson(); }

bool RegisterRocksDB(std::string* error) {
  try {
    if (!Fits(error)) return false;
    Register();
    return true;
  } catch (const std::exception&) {
    SetError(internal::kOutOfMemory, error);
    return false;
  }
}

}  // namespace deltabloom
