// Checks that the loaded RocksDB is the one of the headers, and that its
// builders and readers have the functions that private_abi.h declares.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "engines/rocksdb/base/rocksdb_version.h"
#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/result_check.h"
#if DELTABLOOM_ROCKSDB_IS_UNTESTED
#include "engines/rocksdb/policy/function_check.h"
#endif

namespace deltabloom::internal {
namespace {

struct BuiltinFilter {
  std::unique_ptr<const rocksdb::FilterPolicy> policy;
  rocksdb::BlockBasedTableOptions table;
};

// RocksDB's format_version below which it builds legacy Bloom filters.
constexpr uint32_t kLegacyFormat = 4;

std::array<BuiltinFilter, 3> BuiltinFilters() {
  std::array<BuiltinFilter, 3> filters;
  filters[0].policy.reset(rocksdb::NewBloomFilterPolicy(10));
  filters[1].policy.reset(rocksdb::NewRibbonFilterPolicy(20, -1));
  filters[2].policy.reset(rocksdb::NewBloomFilterPolicy(10));
  filters[2].table.format_version = kLegacyFormat;
  return filters;
}

std::string FunctionProblem(const std::string& what) {
  return "deltabloom: the RocksDB loaded (built as " + HeadersVersion() +
         ") does not build and read its own filters as expected (" + what +
         "): use an unmodified RocksDB of " +
         (DELTABLOOM_ROCKSDB_IS_UNTESTED
              ? "a version that this Deltabloom knows, or build "
                "Deltabloom inside RocksDB's own build"
              : "this version");
}

std::string FindFunctionProblem() {
  const std::array<BuiltinFilter, 3> filters = BuiltinFilters();
  std::array<std::unique_ptr<rocksdb::FilterBitsBuilder>, 3> builders;
  for (size_t i = 0; i < filters.size(); ++i) {
    builders[i] = NewBitsBuilder(*filters[i].policy, filters[i].table);
    if (builders[i] == nullptr) return FunctionProblem("no builder");
  }
  const char* wrong = nullptr;
#if DELTABLOOM_ROCKSDB_IS_UNTESTED
  // Legacy Bloom filters' builder adds no function of its own.
  if (!HasDeclaredFunctions(*builders[2])) {
    wrong = "another number of functions";
  }
  for (size_t i = 0; i < filters.size() && wrong == nullptr; ++i) {
    wrong = WrongFunction(builders[i].get());
  }
#endif
  for (size_t i = 0; i < filters.size() && wrong == nullptr; ++i) {
    wrong = WrongResult(builders[i].get(), *filters[i].policy);
  }
  if (wrong == nullptr) return {};
  // The builders are leaked, because it is not known how to destroy them.
  for (auto& builder : builders) (void)builder.release();
  return FunctionProblem(wrong);
}

}  // namespace

std::string HeadersVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) +
         "." + std::to_string(ROCKSDB_PATCH);
}

std::string VersionProblem(const std::string& loaded) {
  const std::string minor =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + ".";
  if (loaded.compare(0, minor.size(), minor) == 0) {
    const int version = DELTABLOOM_ROCKSDB_VERSION(
        ROCKSDB_MAJOR, ROCKSDB_MINOR, std::atoi(&loaded[minor.size()]));
    const bool has_alt = version >= DELTABLOOM_ROCKSDB_VERSION(9, 6, 1);
    if (version >= DELTABLOOM_ROCKSDB_VERSION(7, 0, 3) &&
        has_alt == DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT) {
      return {};
    }
  }
  return "deltabloom: built for RocksDB " + HeadersVersion() +
         ", but the RocksDB loaded is " + loaded +
         ": build Deltabloom against the headers of that version";
}

// The text is never destroyed, because compactions may outlive static objects.
const std::string& LibraryProblem() {
  static const std::string& problem = *new std::string([] {
    const std::string text =
        VersionProblem(rocksdb::GetRocksVersionAsString(true));
    return text.empty() ? FindFunctionProblem() : text;
  }());
  return problem;
}

}  // namespace deltabloom::internal
