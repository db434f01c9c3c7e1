// The functions of deltabloom/rocksdb.h and those of deltabloom/c.h that
// concern RocksDB, and the registration with RocksDB.
#include "deltabloom/rocksdb.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/levels/trees.h"
#include "engines/rocksdb/policy/caller.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/ranges/collector.h"
#include "rocksdb/c.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "util/c_error.h"
#include "util/json.h"

namespace deltabloom {
namespace {

using internal::Catch;
using internal::kOutOfMemory;
using internal::PolicyOptions;
using internal::Register;
using internal::Require;
using rocksdb::ColumnFamilyOptions;
using rocksdb::EventListener;
using rocksdb::FilterPolicy;
using rocksdb::ObjectLibrary;

// Returns what `fn` returns; its exceptions are errors as C has them.
template <typename Fn>
auto CatchForC(char** errptr, Fn fn) {
  std::string error;
  const auto result = Catch(errptr == nullptr ? nullptr : &error, fn);
  if (!error.empty()) internal::SetError(errptr, error, {});
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
          internal::SetCallerError(kOutOfMemory, error);
        }
        return guard->get();
      });
}

// Throws what is wrong. The factories are for SetOptions, too, which from
// RocksDB 9.8 on makes a new policy, by name.
std::shared_ptr<const FilterPolicy> MakePolicy(
    const RocksDBFilterOptions& options) {
  Register();
  PolicyOptions valid;
  Require(valid.Set(options));
  return internal::NewPolicy(valid);
}

// Options for C, where null stands for the defaults.
PolicyOptions Parsed(const char* text) {
  PolicyOptions options;
  Require(internal::ParsePolicyOptions(text == nullptr ? "" : text, &options));
  return options;
}

bool NeedsListener(const RocksDBFilterOptions& options) {
  return options.allocation == RocksDBAllocation::kLevels;
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
  RegisterRangeCollector(&library);
  return 3;
}

std::shared_ptr<const FilterPolicy> NewRocksDBFilterPolicy(
    const RocksDBFilterOptions& options, std::string* error) {
  return Catch(error, [&] { return MakePolicy(options); });
}

std::shared_ptr<EventListener> NewRocksDBFilterListener(std::string* error) {
  return Catch(error, []() -> std::shared_ptr<EventListener> {
    Register();
    return internal::NewTreeListener();
  });
}

bool AddRocksDBFilters(const RocksDBFilterOptions& options,
                       rocksdb::DBOptions* db, ColumnFamilyOptions* family,
                       std::string* error) {
  return Catch(error, [&] {
    const auto* table =
        family->table_factory == nullptr
            ? nullptr
            : family->table_factory
                  ->GetOptions<rocksdb::BlockBasedTableOptions>();
    if (table == nullptr) {
      Require(
          "the table factory is not that of block-based tables: use "
          "NewBlockBasedTableFactory");
    }
    rocksdb::BlockBasedTableOptions changed = *table;
    changed.filter_policy = MakePolicy(options);
    std::shared_ptr<rocksdb::TableFactory> factory(
        NewBlockBasedTableFactory(changed));
    if (db != nullptr && NeedsListener(options) &&
        !internal::HasTreeListener(db->listeners)) {
      db->listeners.push_back(internal::NewTreeListener());
    }
    family->table_factory = std::move(factory);
    return true;
  });
}

bool CheckRocksDBFilters(const ColumnFamilyOptions& family,
                         std::string* error) {
  return Catch(error, [&] {
    if (family.table_factory == nullptr) Require("there is no table factory");
    rocksdb::DBOptions db;  // a listener is not missing yet
    db.listeners.push_back(internal::NewTreeListener());
    internal::EndOfValidation();  // each check is one of its own
    const rocksdb::Status status =
        family.table_factory->ValidateOptions(db, family);
    internal::EndOfValidation();
    if (!status.ok())
      internal::SetCallerError(status.ToString().c_str(), error);
    return status.ok();
  });
}

bool RegisterRocksDB(std::string* error) { return Catch(error, Register); }

}  // namespace deltabloom

using deltabloom::CatchForC;
using deltabloom::Parsed;
using deltabloom::internal::Register;
using deltabloom::internal::Require;

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
  return CatchForC(errptr, [&] {
    Register();
    return reinterpret_cast<rocksdb_filterpolicy_t*>(
        const_cast<rocksdb::FilterPolicy*>(
            deltabloom::internal::NewPolicy(Parsed(options)).release()));
  });
}

// rocksdb_options_t is private, too, so RocksDB changes it, by an option
// string.
unsigned char deltabloom_rocksdb_add_filters(rocksdb_options_t* options,
                                             const char* filters,
                                             char** errptr) {
  return CatchForC(errptr, [&] {
    Register();
    if (options == nullptr) Require("options is null");
    const auto parsed = Parsed(filters);
    std::string policy = PrintPolicyOptions(parsed);
    std::replace(policy.begin(), policy.end(), ' ', ';');
    std::string text =
        "block_based_table_factory={filter_policy={id=deltabloom;" + policy +
        "}}";
    if (deltabloom::NeedsListener(parsed)) text += ";listeners=deltabloom";
    char* refused = nullptr;
    rocksdb_get_options_from_string(options, text.c_str(), options, &refused);
    const std::unique_ptr<char, decltype(&std::free)> owner(refused, std::free);
    if (refused != nullptr) Require(refused);
    return true;
  });
}

unsigned char deltabloom_rocksdb_register(char** errptr) {
  return CatchForC(errptr, Register);
}

char* deltabloom_rocksdb_statistics(const char* format, char** errptr) {
  using deltabloom::internal::Quote;
  return deltabloom::internal::CatchForC(errptr, [&] {
    const std::string wanted = format == nullptr ? "" : format;
    const auto statistics = deltabloom::GetRocksDBFilterStatistics();
    std::string text;
    if (wanted == "json") {
      text = statistics.ToJson();
      text.back() = ',';  // the object goes on
      text += "\"levels\":" + deltabloom::RocksDBFilterLevelsJson() + "}";
    } else if (wanted == "prometheus") {
      text = statistics.ToPrometheus() +
             deltabloom::RocksDBFilterLevelsPrometheus();
    } else if (wanted == "text") {
      text = statistics.ToText();
    } else {
      throw std::invalid_argument("format " + Quote(wanted) +
                                  " is unknown: use json, prometheus or text");
    }
    char* const copy = deltabloom::internal::CopyForC(text);
    if (copy == nullptr) throw std::bad_alloc();
    return copy;
  });
}

}  // extern "C"
