// The functions of deltabloom/rocksdb.h and those of deltabloom/c.h that
// concern RocksDB, and the registration with RocksDB.
#include "deltabloom/rocksdb.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/policy/library_check.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/process_wide.h"
#include "engines/rocksdb/range/ranges.h"
#include "rocksdb/c.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "util/c_error.h"
#include "util/json.h"

namespace deltabloom {
namespace {

using internal::kOutOfMemory;
using internal::PolicyOptions;
using rocksdb::ColumnFamilyOptions;
using rocksdb::EventListener;
using rocksdb::FilterPolicy;
using rocksdb::ObjectLibrary;
using rocksdb::SliceTransform;

// For callers that would not see the error otherwise. Each line is printed once
// in a process.
void PrintOnce(const char* line) noexcept {
  // A program may try ever new options.
  constexpr size_t kMostLines = 20;
  try {
    internal::ProcessWide<std::set<std::string>> printed;
    if (printed->size() >= kMostLines || !printed->insert(line).second) return;
  } catch (const std::exception&) {
    // Without memory it is printed each time.
  }
  std::fprintf(stderr,
               "%s; without it RocksDB runs with no filters of Deltabloom\n",
               line);
}

// Sets *error, or prints the line if that is null.
void SetError(const char* line, std::string* error) noexcept {
  if (error == nullptr) return PrintOnce(line);
  if (!internal::WithoutThrowing([&] { *error = line; })) *error = kOutOfMemory;
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

// The same for C. `fn` also gets where to put an error that is complete.
template <typename Result, typename Fn>
Result WithErrorForC(char** errptr, Fn fn) {
  std::string text;
  std::string* const error = errptr == nullptr ? nullptr : &text;
  Result result = WithError(Result(), error, [&](std::string* wrong) {
    return static_cast<Result>(fn(error, wrong));
  });
  if (!text.empty()) internal::SetError(errptr, text);
  return result;
}

// Adds a factory to RocksDB's registry. It puts what `make` returns for a URI
// into *guard, or an error into *error and returns null.
template <typename Base, typename Pattern, typename Make>
void AddFactory(ObjectLibrary* library, const Pattern& pattern, Make make) {
  library->AddFactory<Base>(
      pattern, [make](const std::string& uri, std::unique_ptr<Base>* guard,
                      std::string* error) {
        if (!internal::WithoutThrowing([&] { *guard = make(uri); })) {
          SetError(kOutOfMemory, error);
        }
        return guard->get();
      });
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

// A policy that is ready for use. Throws std::bad_alloc.
std::unique_ptr<const FilterPolicy> MakePolicy(const PolicyOptions& options) {
  auto policy = internal::NewPolicy(options);
  // From RocksDB 9.8 on SetOptions makes a new policy, by name.
  Register();
  return policy;
}

// An object that `make` makes, once the factories are registered; else null
// with *error set.
template <typename Object, typename Make>
std::shared_ptr<Object> MakeRegistered(std::string* error, Make make) {
  using Pointer = std::shared_ptr<Object>;
  if (!RegisterRocksDB(error)) return nullptr;
  return WithError(Pointer(), error,
                   [&](std::string*) -> Pointer { return make(); });
}

bool NeedsListener(const RocksDBFilterOptions& options) {
  return options.allocation == RocksDBAllocation::kLevels || options.range;
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

int internal::AddFactories(ObjectLibrary& library) {
  // One pattern takes all URIs that begin with the name: with narrower patterns
  // RocksDB would take a misspelt URI for no policy without an error.
  AddFactory<const FilterPolicy>(
      &library,
      ObjectLibrary::PatternEntry(kPolicyName, /*optional=*/true)
          .AddSeparator(":", /*at_least_one=*/false),
      [](const std::string& uri) { return NewPolicy(uri); });
  AddFactory<EventListener>(&library, kPolicyName, [](const std::string&) {
    return NewTreeListener();
  });
  AddFactory<const SliceTransform>(
      &library, kRangeExtractorName, [](const std::string&) {
        return std::make_unique<const RangeExtractor>();
      });
  return 3;
}

std::shared_ptr<const FilterPolicy> NewRocksDBFilterPolicy(
    const RocksDBFilterOptions& options, std::string* error) {
  using Policy = std::shared_ptr<const FilterPolicy>;
  return WithError(Policy(), error, [&](std::string* wrong) -> Policy {
    if (!LibraryFits(error)) return nullptr;
    *wrong = options.Validate();
    if (!wrong->empty()) return nullptr;
    return MakePolicy(PolicyOptions(options));
  });
}

std::shared_ptr<EventListener> NewRocksDBFilterListener(std::string* error) {
  return MakeRegistered<EventListener>(error, internal::NewTreeListener);
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
    if (db != nullptr && NeedsListener(options) &&
        !internal::HasTreeListener(db->listeners)) {
      db->listeners.push_back(internal::NewTreeListener());
    }
    family->table_factory = std::move(factory);
    family->prefix_extractor = std::move(with.prefix_extractor);
    return true;
  });
}

std::shared_ptr<const SliceTransform> NewRocksDBRangeExtractor(
    std::string* error) {
  return MakeRegistered<const SliceTransform>(
      error, [] { return std::make_shared<internal::RangeExtractor>(); });
}

bool CheckRocksDBFilters(const ColumnFamilyOptions& family,
                         std::string* error) {
  return WithError(false, error, [&](std::string* wrong) {
    if (family.table_factory == nullptr) {
      *wrong = "there is no table factory";
      return false;
    }
    rocksdb::DBOptions db;  // a listener is not missing yet
    db.listeners.push_back(internal::NewTreeListener());
    const rocksdb::Status status =
        family.table_factory->ValidateOptions(db, family);
    if (!status.ok() && error != nullptr) *error = status.ToString();
    return status.ok();
  });
}

bool RegisterRocksDB(std::string* error) {
  return WithError(false, error, [error](std::string*) {
    if (!LibraryFits(error)) return false;
    Register();
    return true;
  });
}

}  // namespace deltabloom

using deltabloom::internal::CatchForC;
using deltabloom::internal::ParsePolicyOptions;
using deltabloom::internal::PolicyOptions;
using deltabloom::internal::PrintPolicyOptions;

extern "C" {

// Through this function RocksDB's own build registers a plugin
// (ROCKSDB_PLUGINS); the preloaded plugin exports no other name. Returns the
// number of factories added.
DELTABLOOM_EXPORT int deltabloom_register(rocksdb::ObjectLibrary& library,
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

// rocksdb_filterpolicy_t is private to RocksDB's db/c.cc: a FilterPolicy with
// three members that only its own virtual functions use, so a FilterPolicy can
// take its place. Read in 7.0.3, 7.8.3, 8.11.4, 9.10.0, 10.10.1, 11.8.1 and
// 11.9; tests/c/rocksdb.c runs it.
rocksdb_filterpolicy_t* deltabloom_rocksdb_filterpolicy(const char* options,
                                                        char** errptr) {
  using Policy = rocksdb_filterpolicy_t*;
  return deltabloom::WithErrorForC<Policy>(
      errptr, [&](std::string* error, std::string* wrong) -> Policy {
        if (!deltabloom::RegisterRocksDB(error)) return nullptr;
        PolicyOptions parsed;
        *wrong = ParsePolicyOptions(options == nullptr ? "" : options, &parsed);
        if (!wrong->empty()) return nullptr;
        return reinterpret_cast<Policy>(const_cast<rocksdb::FilterPolicy*>(
            deltabloom::MakePolicy(parsed).release()));
      });
}

// rocksdb_options_t is private, too, so RocksDB changes it, by an option
// string.
unsigned char deltabloom_rocksdb_add_filters(rocksdb_options_t* options,
                                             const char* filters,
                                             char** errptr) {
  return deltabloom::WithErrorForC<unsigned char>(
      errptr, [&](std::string* error, std::string* wrong) {
        if (!deltabloom::RegisterRocksDB(error)) return false;
        PolicyOptions parsed;
        *wrong = options == nullptr
                     ? "options is null"
                     : ParsePolicyOptions(filters == nullptr ? "" : filters,
                                          &parsed);
        if (!wrong->empty()) return false;
        std::string policy = PrintPolicyOptions(parsed);
        std::replace(policy.begin(), policy.end(), ' ', ';');
        std::string text =
            "block_based_table_factory={filter_policy={id=deltabloom;" +
            policy + "}}";
        if (parsed.range) text += ";prefix_extractor=deltabloom.Range";
        if (deltabloom::NeedsListener(parsed)) text += ";listeners=deltabloom";
        char* refused = nullptr;
        rocksdb_get_options_from_string(options, text.c_str(), options,
                                        &refused);
        if (refused == nullptr) return true;
        *wrong = refused;
        std::free(refused);
        return false;
      });
}

unsigned char deltabloom_rocksdb_register(char** errptr) {
  return deltabloom::WithErrorForC<unsigned char>(
      errptr, [](std::string* error, std::string*) {
        return deltabloom::RegisterRocksDB(error);
      });
}

char* deltabloom_rocksdb_statistics(const char* format, char** errptr) {
  return CatchForC(errptr, [&] {
    const std::string wanted = format == nullptr ? "" : format;
    const auto statistics = deltabloom::GetRocksDBFilterStatistics();
    std::string text;
    if (wanted == "json") {
      text = statistics.ToJson();
    } else if (wanted == "prometheus") {
      text = statistics.ToPrometheus() +
             deltabloom::RocksDBFilterLevelsPrometheus();
    } else if (wanted == "text") {
      text = statistics.ToText();
    } else {
      throw std::invalid_argument("format " +
                                  deltabloom::internal::Quote(wanted) +
                                  " is unknown: use json, prometheus or text");
    }
    char* const copy = deltabloom::internal::CopyForC(text);
    if (copy == nullptr) throw std::bad_alloc();
    return copy;
  });
}

}  // extern "C"
