// The functions of deltabloom/rocksdb.h, and the registration with RocksDB.
#include "deltabloom/rocksdb.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "engines/rocksdb/levels/level_bits.h"
#include "engines/rocksdb/levels/tree_listener.h"
#include "engines/rocksdb/policy/family_check.h"
#include "engines/rocksdb/policy/library_check.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/register.h"
#include "engines/rocksdb/range/range_extractor.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace deltabloom {
namespace {

using internal::kOutOfMemory;
using internal::SealedFilterPolicy;
using rocksdb::ColumnFamilyOptions;
using rocksdb::EventListener;
using rocksdb::FilterPolicy;
using rocksdb::ObjectLibrary;
using rocksdb::SliceTransform;

// Sets *error, or prints the line if that is null.
void SetError(const char* line, std::string* error) noexcept {
  if (error == nullptr) {
    internal::PrintOnce(line);
    return;
  }
  try {
    *error = line;
  } catch (const std::exception&) {
    *error = kOutOfMemory;
  }
}

// Returns what `fn` returns. An error that it returns in its argument, or
// memory that it has not got, becomes *error; then the result is `failed`.
template <typename Result, typename Fn>
Result WithError(Result failed, std::string* error, Fn fn) {
  try {
    std::string wrong;
    Result result = fn(&wrong);
    if (wrong.empty()) return result;
    SetError(("deltabloom: " + wrong).c_str(), error);
  } catch (const std::exception&) {
    SetError("deltabloom: out of memory", error);
  }
  return failed;
}

// A factory of RocksDB's registry: puts a new object in *guard, or an error in
// *error and returns null.
template <typename Base, typename Object, typename... Arguments>
Base* Create(std::unique_ptr<Base>* guard, std::string* error,
             const Arguments&... arguments) {
  try {
    *guard = std::make_unique<Object>(arguments...);
  } catch (const std::exception&) {
    SetError(kOutOfMemory, error);
  }
  return guard->get();
}

// False with *error set if the RocksDB library has the wrong version.
bool LibraryFits(std::string* error) {
  const std::string& problem = internal::LibraryProblem();
  if (!problem.empty()) SetError(problem.c_str(), error);
  return problem.empty();
}

void Register() {
  static std::once_flag once;
  std::call_once(once,
                 [] { internal::AddFactories(*ObjectLibrary::Default()); });
}

// Gives *family what ranges need. Returns one line about what conflicts with
// them, or nothing.
std::string PrepareForRanges(bool range, ColumnFamilyOptions* family) {
  if (range && family->prefix_extractor == nullptr) {
    std::string conflict = internal::RangeConflict(*family, true);
    if (!conflict.empty()) return conflict;
    family->prefix_extractor = std::make_shared<internal::RangeExtractor>();
  }
  const SliceTransform* const extractor = family->prefix_extractor.get();
  if (range && internal::AsRangeExtractor(extractor) == nullptr) {
    return std::string("prefix_extractor ") + extractor->Name() +
           " is set, and range=on needs " + internal::kRangeExtractorName +
           " in its place: reset it, or do without ranges";
  }
  return internal::RangeConflict(*family, range);
}

}  // namespace

namespace internal {

int AddFactories(ObjectLibrary& library) {
  // One pattern takes all URIs that begin with the name: with narrower patterns
  // RocksDB would take a misspelt URI for no policy without an error.
  library.AddFactory<const FilterPolicy>(
      ObjectLibrary::PatternEntry(kPolicyName, /*optional=*/true)
          .AddSeparator(":", /*at_least_one=*/false),
      [](const std::string& uri, std::unique_ptr<const FilterPolicy>* guard,
         std::string* error) {
        return Create<const FilterPolicy, SealedFilterPolicy>(guard, error,
                                                              uri);
      });
  library.AddFactory<EventListener>(
      kPolicyName, [](const std::string&, std::unique_ptr<EventListener>* guard,
                      std::string* error) {
        return Create<EventListener, TreeListener>(guard, error);
      });
  library.AddFactory<const SliceTransform>(
      kRangeExtractorName,
      [](const std::string&, std::unique_ptr<const SliceTransform>* guard,
         std::string* error) {
        return Create<const SliceTransform, RangeExtractor>(guard, error);
      });
  return 3;
}

std::unique_ptr<const FilterPolicy> MakePolicy(const PolicyOptions& options) {
  auto policy = std::make_unique<SealedFilterPolicy>(options);
  // From RocksDB 9.8 on SetOptions makes a new policy, by name.
  Register();
  return policy;
}

void PrintOnce(const char* line) noexcept {
  // A program may try ever new options.
  constexpr size_t kMostLines = 20;
  try {
    // Never destroyed: a policy may be made by destructors of static objects.
    static std::mutex& mutex = *new std::mutex;
    static std::set<std::string>& printed = *new std::set<std::string>;
    const std::lock_guard<std::mutex> lock(mutex);
    if (printed.size() >= kMostLines || !printed.insert(line).second) return;
  } catch (const std::exception&) {
    // Without memory it is printed each time.
  }
  std::fprintf(stderr,
               "%s; without it RocksDB runs with no filters of Deltabloom\n",
               line);
}

}  // namespace internal

std::shared_ptr<const FilterPolicy> NewRocksDBFilterPolicy(
    const RocksDBFilterOptions& options, std::string* error) {
  using Policy = std::shared_ptr<const FilterPolicy>;
  return WithError(Policy(), error, [&](std::string* wrong) -> Policy {
    if (!LibraryFits(error)) return nullptr;
    *wrong = options.Validate();
    if (!wrong->empty()) return nullptr;
    return internal::MakePolicy(internal::PolicyOptions(options));
  });
}

std::shared_ptr<EventListener> NewRocksDBFilterListener(std::string* error) {
  using Listener = std::shared_ptr<EventListener>;
  if (!RegisterRocksDB(error)) return nullptr;
  return WithError(Listener(), error, [](std::string*) -> Listener {
    return std::make_shared<internal::TreeListener>();
  });
}

bool AddRocksDBFilters(const RocksDBFilterOptions& options,
                       rocksdb::DBOptions* db, ColumnFamilyOptions* family,
                       std::string* error) {
  return WithError(false, error, [&](std::string* wrong) {
    const auto* table =
        family->table_factory == nullptr
            ? nullptr
            : family->table_factory
                  ->GetOptions<rocksdb::BlockBasedTableOptions>();
    if (table == nullptr) {
      *wrong =
          "the table factory is not that of block-based tables: use "
          "NewBlockBasedTableFactory";
      return false;
    }
    ColumnFamilyOptions with = *family;
    *wrong = PrepareForRanges(options.range, &with);
    if (!wrong->empty()) return false;
    rocksdb::BlockBasedTableOptions changed = *table;
    changed.filter_policy = NewRocksDBFilterPolicy(options, error);
    if (changed.filter_policy == nullptr) return false;
    std::shared_ptr<rocksdb::TableFactory> factory(
        NewBlockBasedTableFactory(changed));
    const bool needs_listener =
        options.allocation == RocksDBAllocation::kLevels || options.range;
    if (db != nullptr && needs_listener &&
        !internal::HasTreeListener(db->listeners)) {
      db->listeners.push_back(std::make_shared<internal::TreeListener>());
    }
    family->table_factory = std::move(factory);
    family->prefix_extractor = std::move(with.prefix_extractor);
    return true;
  });
}

std::shared_ptr<const SliceTransform> NewRocksDBRangeExtractor(
    std::string* error) {
  using Extractor = std::shared_ptr<const SliceTransform>;
  if (!RegisterRocksDB(error)) return nullptr;
  return WithError(Extractor(), error, [](std::string*) -> Extractor {
    return std::make_shared<internal::RangeExtractor>();
  });
}

bool CheckRocksDBFilters(const ColumnFamilyOptions& family,
                         std::string* error) {
  return WithError(false, error, [&](std::string* wrong) {
    if (family.table_factory == nullptr) {
      *wrong = "there is no table factory";
      return false;
    }
    const rocksdb::Status status =
        family.table_factory->ValidateOptions(rocksdb::DBOptions(), family);
    if (!status.ok() && error != nullptr) *error = status.ToString();
    return status.ok();
  });
}

std::string RocksDBFilterLevelsJson() { return internal::LevelsJson(); }

bool RegisterRocksDB(std::string* error) {
  return WithError(false, error, [error](std::string*) {
    if (!LibraryFits(error)) return false;
    Register();
    return true;
  });
}

}  // namespace deltabloom

int deltabloom_register(rocksdb::ObjectLibrary& library,
                        const std::string& /*argument*/) {
  try {
    const std::string& problem = deltabloom::internal::LibraryProblem();
    if (problem.empty()) return deltabloom::internal::AddFactories(library);
    std::fprintf(stderr, "%s\n", problem.c_str());
  } catch (const std::exception&) {
    std::fputs("deltabloom: out of memory, not registered\n", stderr);
  }
  return 0;
}
