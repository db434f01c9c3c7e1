// The functions of a module (module.h). They use RocksDB's C++ functions only,
// and of those what a program with any filter policy has.
#include "engines/rocksdb/plugin/module.h"

#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "deltabloom/export.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/api/text.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/plugin/policy_module.h"
#include "engines/rocksdb/policy/policy.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#include "util/c_error.h"
#include "util/json.h"

namespace deltabloom::internal {
namespace {

#define DELTABLOOM_TEXT(number) #number
#define DELTABLOOM_VERSION_TEXT(major, minor, patch) \
  DELTABLOOM_TEXT(major) "." DELTABLOOM_TEXT(minor) "." DELTABLOOM_TEXT(patch)

// Sets *error to the line of what fn throws.
template <typename Fn>
auto CatchLine(char** error, Fn fn) {
  std::string line;
  const auto result = Catch(&line, fn);
  if (!line.empty()) SetError(error, line, {});
  return result;
}

char* Copied(const std::string& text) {
  char* const copy = CopyForC(text);
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

std::shared_ptr<const rocksdb::FilterPolicy> PolicyOf(const char* text) {
  Register();
  return PolicyOfText(text == nullptr ? "" : text);
}

int RegisterModule(char** error) {
  return CatchLine(error, [] { return Register() ? 1 : 0; });
}

void ServeOnce() {
  static std::once_flag once;
  std::call_once(once, ServeEnvironment);
}

void* NewModulePolicy(const char* text, char** error) {
  return CatchLine(error, [text] {
    return new std::shared_ptr<const rocksdb::FilterPolicy>(PolicyOf(text));
  });
}

int SetModuleFilters(void* options, const char* text, char** error) {
  return CatchLine(error, [options, text] {
    if (options == nullptr) Require("options is null");
    SetPolicy(PolicyOf(text), static_cast<rocksdb::Options*>(options));
    return 1;
  });
}

char* FiltersOfOptions(const void* options, char** error) {
  return CatchLine(error, [options] {
    if (options == nullptr) Require("options is null");
    return Copied(PolicyTextOf(*static_cast<const rocksdb::Options*>(options)));
  });
}

char* FiltersOfDatabase(void* db, void* family, char** error) {
  return CatchLine(error, [db, family] {
    if (db == nullptr) Require("db is null");
    auto* const database = static_cast<rocksdb::DB*>(db);
    return Copied(PolicyTextOf(database->GetOptions(
        family == nullptr
            ? database->DefaultColumnFamily()
            : static_cast<rocksdb::ColumnFamilyHandle*>(family))));
  });
}

char* CheckText(const char* text, char** error) {
  return CatchLine(error, [text] {
    Register();
    return Copied(FullText(text == nullptr ? "" : text));
  });
}

char* StatisticsIn(const char* format, char** error) {
  return CatchLine(error, [format] {
    const std::string wanted = format == nullptr ? "" : format;
    const auto statistics = GetRocksDBFilterStatistics();
    if (wanted == "json") return Copied(statistics.ToJson());
    if (wanted == "prometheus") return Copied(statistics.ToPrometheus());
    if (wanted != "text") {
      Require("format " + Quote(wanted) +
              " is unknown: use json, prometheus or text");
    }
    return Copied(statistics.ToText());
  });
}

void* ReplacePolicy(void* policy, char** error) {
  return CatchLine(error, [policy]() -> void* {
    const auto* const own = static_cast<const rocksdb::FilterPolicy*>(policy);
    RocksDBFilterOptions options;
    options.bits_per_key = BitsPerKeyOf(*own);
    PolicyOptions valid;
    Require(valid.Set(options));
    auto ours = NewPolicy(&TheProcess(), valid);
    delete own;
    return const_cast<rocksdb::FilterPolicy*>(ours.release());
  });
}

int WasUsed() { return TheProcess().policy_was_used ? 1 : 0; }

}  // namespace
}  // namespace deltabloom::internal

extern "C" {

using namespace deltabloom::internal;  // NOLINT

DELTABLOOM_EXPORT extern const deltabloom_module deltabloom_rocksdb_module;
const deltabloom_module deltabloom_rocksdb_module = {
    DELTABLOOM_MODULE_INTERFACE,
    DELTABLOOM_VERSION_TEXT(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH),
    RegisterModule,
    ServeOnce,
    NewModulePolicy,
    SetModuleFilters,
    FiltersOfOptions,
    FiltersOfDatabase,
    CheckText,
    StatisticsIn,
    ReplacePolicy,
    WasUsed,
};

}  // extern "C"
