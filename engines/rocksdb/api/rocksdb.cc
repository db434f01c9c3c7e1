// Defines the functions of deltabloom/rocksdb.h, and registers with RocksDB.
#include "deltabloom/rocksdb.h"

#include <cassert>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "deltabloom/export.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/ranges/collector.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

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
  return internal::NewPolicy(&internal::TheProcess(), valid);
}

// OPTIONS files of earlier versions name a listener of ours, without which
// RocksDB would not read them.
class RemovedListener final : public EventListener {
 public:
  const char* Name() const override { return internal::kPolicyName; }
};

}  // namespace

namespace internal {

int AddFactories(ObjectLibrary& library) {
  assert(LibraryProblem().empty());
  // One pattern takes all URIs that begin with the name: with narrower patterns
  // RocksDB would take a misspelt URI for no policy without an error.
  AddFactory<const FilterPolicy>(
      &library,
      ObjectLibrary::PatternEntry(kPolicyName, /*optional=*/true)
          .AddSeparator(":", /*at_least_one=*/false),
      [](const std::string& uri) { return NewPolicy(&TheProcess(), uri); });
  AddFactory<EventListener>(&library, kPolicyName, [](const std::string&) {
    return std::make_unique<RemovedListener>();
  });
  RegisterRangeCollector(&library);
  return 3;
}

bool Register() {
  const std::string& problem = LibraryProblem();
  if (!problem.empty()) throw std::runtime_error(problem);
  static std::once_flag once;
  std::call_once(once, [] { AddFactories(*ObjectLibrary::Default()); });
  return true;
}

}  // namespace internal

std::shared_ptr<const FilterPolicy> NewRocksDBFilterPolicy(
    const RocksDBFilterOptions& options, std::string* error) {
  return Catch(error, [&] { return MakePolicy(options); });
}

bool CheckRocksDBFilters(const ColumnFamilyOptions& family,
                         std::string* error) {
  return Catch(error, [&] {
    if (family.table_factory == nullptr) Require("there is no table factory");
    const rocksdb::Status status =
        family.table_factory->ValidateOptions(rocksdb::DBOptions(), family);
    if (!status.ok())
      internal::SetCallerError(status.ToString().c_str(), error);
    return status.ok();
  });
}

bool RegisterRocksDB(std::string* error) { return Catch(error, Register); }

}  // namespace deltabloom

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

}  // extern "C"
