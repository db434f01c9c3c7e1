// The functions of deltabloom/c.h that concern RocksDB. They need RocksDB's own
// C functions; nothing else does, so that a build of RocksDB without those can
// leave this file out.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/api/c_calls.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/policy/policy.h"
#include "rocksdb/c.h"
#include "util/c_error.h"

namespace deltabloom::internal {
namespace {

// Does what CatchForC does, but prints the error if `errptr` is null.
template <typename Fn>
auto CatchOrPrint(char** errptr, Fn fn) {
  std::string error;
  const auto result = Catch(errptr == nullptr ? nullptr : &error, fn);
  if (!error.empty()) SetError(errptr, error, {});
  return result;
}

// Options for C, where null stands for the defaults.
PolicyOptions Parsed(const char* text) {
  PolicyOptions options;
  Require(ParsePolicyOptions(text == nullptr ? "" : text, &options));
  return options;
}

}  // namespace
}  // namespace deltabloom::internal

using namespace deltabloom::internal;  // NOLINT

extern "C" {

// rocksdb_filterpolicy_t is private to RocksDB's db/c.cc: a FilterPolicy with
// three members that only its own virtual functions use, so a FilterPolicy can
// take its place. Read in 7.0.3, 7.8.3, 8.11.4, 9.10.0, 10.10.1, 11.8.1 and
// 11.9 and 11.12; tests/c/rocksdb.c runs it.
rocksdb_filterpolicy_t* deltabloom_rocksdb_filterpolicy(const char* options,
                                                        char** errptr) {
  return CatchOrPrint(errptr, [&] {
    Register();
    return reinterpret_cast<rocksdb_filterpolicy_t*>(
        const_cast<rocksdb::FilterPolicy*>(
            NewPolicy(&TheProcess(), Parsed(options)).release()));
  });
}

// rocksdb_options_t is private, too, so RocksDB changes it, by an option
// string.
unsigned char deltabloom_rocksdb_add_filters(rocksdb_options_t* options,
                                             const char* filters,
                                             char** errptr) {
  return CatchOrPrint(errptr, [&] {
    Register();
    if (options == nullptr) Require("options is null");
    std::string policy = PrintPolicyOptions(Parsed(filters));
    std::replace(policy.begin(), policy.end(), ' ', ';');
    const std::string text =
        "block_based_table_factory={filter_policy={id=deltabloom;" + policy +
        "}}";
    char* refused = nullptr;
    rocksdb_get_options_from_string(options, text.c_str(), options, &refused);
    const std::unique_ptr<char, decltype(&std::free)> owner(refused, std::free);
    if (refused != nullptr) Require(refused);
    return true;
  });
}

unsigned char deltabloom_rocksdb_register(char** errptr) {
  return CatchOrPrint(errptr, Register);
}

char* deltabloom_rocksdb_statistics(const char* format, char** errptr) {
  return CatchLine(errptr, [&] {
    return CopiedAs(format, deltabloom::GetRocksDBFilterStatistics());
  });
}

}  // extern "C"
