// The policy from C.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/policy/register.h"
#include "rocksdb/c.h"
#include "util/c_error.h"
#include "util/json.h"

namespace {

using deltabloom::internal::CatchForC;
using deltabloom::internal::CopyForC;
using deltabloom::internal::SetError;

void Fail(char** errptr, const std::string& error) {
  if (errptr == nullptr) {
    deltabloom::internal::PrintOnce(error.c_str());
  } else {
    SetError(errptr, error);
  }
}

}  // namespace

extern "C" {

// rocksdb_filterpolicy_t is private to RocksDB's db/c.cc: a FilterPolicy and
// three members after it, which only its own virtual functions use. RocksDB
// converts a pointer to one to a pointer to FilterPolicy, its first base, or
// deletes it through the virtual destructor; so a FilterPolicy can take its
// place. Read in 7.0.3, 7.8.3, 8.11.4, 9.10.0, 10.10.1, 11.8.1 and 11.9;
// tests/c/rocksdb.c runs it.
rocksdb_filterpolicy_t* deltabloom_rocksdb_filterpolicy(const char* options,
                                                        char** errptr) {
  using Policy = rocksdb_filterpolicy_t;
  return CatchForC<Policy*>(errptr, nullptr, [&]() -> Policy* {
    if (deltabloom_rocksdb_register(errptr) == 0) return nullptr;
    deltabloom::internal::PolicyOptions parsed;
    const std::string error = deltabloom::internal::ParsePolicyOptions(
        options == nullptr ? "" : options, &parsed);
    if (!error.empty()) {
      Fail(errptr, "deltabloom: " + error);
      return nullptr;
    }
    const auto* const policy =
        deltabloom::internal::MakePolicy(parsed).release();
    return reinterpret_cast<Policy*>(
        const_cast<rocksdb::FilterPolicy*>(policy));
  });
}

// rocksdb_options_t is private, too, so RocksDB changes it, by an option
// string.
unsigned char deltabloom_rocksdb_add_filters(rocksdb_options_t* options,
                                             const char* filters,
                                             char** errptr) {
  return CatchForC<unsigned char>(errptr, 0, [&]() -> unsigned char {
    if (deltabloom_rocksdb_register(errptr) == 0) return 0;
    deltabloom::internal::PolicyOptions parsed;
    std::string error = options == nullptr
                            ? "options is null"
                            : deltabloom::internal::ParsePolicyOptions(
                                  filters == nullptr ? "" : filters, &parsed);
    if (error.empty()) {
      std::string policy = deltabloom::internal::PrintPolicyOptions(parsed);
      std::replace(policy.begin(), policy.end(), ' ', ';');
      std::string text =
          "block_based_table_factory={filter_policy={id=deltabloom;" + policy +
          "}}";
      if (parsed.range) text += ";prefix_extractor=deltabloom.Range";
      if (parsed.range ||
          parsed.allocation == deltabloom::RocksDBAllocation::kLevels) {
        text += ";listeners=deltabloom";
      }
      char* refused = nullptr;
      rocksdb_get_options_from_string(options, text.c_str(), options, &refused);
      if (refused == nullptr) return 1;
      error = refused;
      std::free(refused);
    }
    Fail(errptr, "deltabloom: " + error);
    return 0;
  });
}

unsigned char deltabloom_rocksdb_register(char** errptr) {
  return CatchForC<unsigned char>(errptr, 0, [&]() -> unsigned char {
    std::string error;
    if (deltabloom::RegisterRocksDB(&error)) return 1;
    Fail(errptr, error);
    return 0;
  });
}

char* deltabloom_rocksdb_statistics(const char* format, char** errptr) {
  return CatchForC<char*>(errptr, nullptr, [&]() -> char* {
    const std::string wanted = format == nullptr ? "" : format;
    const bool json = wanted == "json";
    const bool prometheus = wanted == "prometheus";
    if (!json && !prometheus && wanted != "text") {
      SetError(errptr, "deltabloom: format " +
                           deltabloom::internal::Quote(wanted) +
                           " is unknown: use json, prometheus or text");
      return nullptr;
    }
    const auto statistics = deltabloom::GetRocksDBFilterStatistics();
    char* const text = CopyForC(json         ? statistics.ToJson()
                                : prometheus ? statistics.ToPrometheus()
                                             : statistics.ToText());
    if (text == nullptr) throw std::bad_alloc();
    return text;
  });
}

}  // extern "C"
