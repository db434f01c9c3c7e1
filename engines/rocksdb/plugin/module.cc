// The functions of a module (module.h). They use RocksDB's C++ functions only,
// and of those what a program with any filter policy has.
#include "engines/rocksdb/plugin/module.h"

#include <memory>
#include <mutex>
#include <string>

#include "deltabloom/export.h"
#include "deltabloom/rocksdb.h"
#include "deltabloom/rocksdb_statistics.h"
#include "engines/rocksdb/api/c_calls.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/api/text.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/plugin/policy_module.h"
#include "engines/rocksdb/plugin/ranges_module.h"
#include "engines/rocksdb/policy/policy.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"

namespace deltabloom::internal {
namespace {

#define DELTABLOOM_TEXT(number) #number
#define DELTABLOOM_VERSION_TEXT(major, minor, patch) \
  DELTABLOOM_TEXT(major) "." DELTABLOOM_TEXT(minor) "." DELTABLOOM_TEXT(patch)

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
    RequireGiven(options, "options");
    SetPolicy(PolicyOf(text), static_cast<rocksdb::Options*>(options));
    return 1;
  });
}

char* FiltersOfOptions(const void* options, char** error) {
  return CatchLine(error, [options] {
    RequireGiven(options, "options");
    return Copied(PolicyTextOf(*static_cast<const rocksdb::Options*>(options)));
  });
}

char* FiltersOfDatabase(void* db, void* family, char** error) {
  return CatchLine(error, [db, family] {
    RequireGiven(db, "db");
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
    return CopiedAs(format, GetRocksDBFilterStatistics());
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
    &kRangesModule,
    ReplacePolicy,
    WasUsed,
};

}  // extern "C"
