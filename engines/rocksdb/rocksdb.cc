#include "deltabloom/rocksdb.h"

#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "engines/rocksdb/library_check.h"
#include "engines/rocksdb/policy.h"
#include "engines/rocksdb/register.h"
#include "engines/rocksdb/settings.h"

namespace deltabloom {
namespace {

using internal::SealedFilterPolicy;
using ROCKSDB_NAMESPACE::FilterPolicy;
using ROCKSDB_NAMESPACE::ObjectLibrary;

// "deltabloom: <what>", or what there is memory for.
void SetError(const char* what, std::string* error) noexcept {
  if (error == nullptr) return;
  try {
    *error = std::string("deltabloom: ") + what;
  } catch (const std::exception&) {
    *error = internal::kOutOfMemory;
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
  if (!problem.empty() && error != nullptr) *error = problem;
  return problem.empty();
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
  return 1;
}

}  // namespace internal

std::string RocksDBFilterOptions::Validate() const {
  FilterOptions core;
  core.bits_per_key = bits_per_key;
  core.layout = layout;
  core.max_build_bytes = max_build_bytes;
  return core.Validate();
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
    policy->settings().made = true;
    // From RocksDB 9.8 on SetOptions makes a new policy, by name.
    Register();
    return policy;
  } catch (const std::exception&) {
    SetError(internal::kOutOfMemory, error);
    return nullptr;
  }
}

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
