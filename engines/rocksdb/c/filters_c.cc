// The functions of deltabloom/c.h that say which filters options and databases
// have. RocksDB's types of C begin with the C++ object or its pointer.
#include <new>
#include <string>

#include "deltabloom/c.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/api/text.h"
#include "engines/rocksdb/base/errors.h"
#include "rocksdb/c.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "util/c_error.h"

namespace deltabloom::internal {
namespace {

// Returns a copy of what fn returns, or null with the line in *errptr.
template <typename Fn>
char* TextForC(char** errptr, Fn fn) {
  std::string error;
  char* const text = Catch(&error, [&] {
    char* const copy = CopyForC(fn());
    if (copy == nullptr) throw std::bad_alloc();
    return copy;
  });
  if (text == nullptr) SetError(errptr, error, {});
  return text;
}

void RequireObject(const void* object, const char* name) {
  if (object == nullptr) Require(std::string(name) + " is null");
}

}  // namespace
}  // namespace deltabloom::internal

using namespace deltabloom::internal;  // NOLINT

extern "C" {

char* deltabloom_rocksdb_filters_of_options(const rocksdb_options_t* options,
                                            char** errptr) {
  return TextForC(errptr, [&] {
    RequireObject(options, "options");
    return PolicyTextOf(*reinterpret_cast<const rocksdb::Options*>(options));
  });
}

char* deltabloom_rocksdb_filters_of_database(
    rocksdb_t* db, rocksdb_column_family_handle_t* family, char** errptr) {
  return TextForC(errptr, [&] {
    RequireObject(db, "db");
    rocksdb::DB* const database = *reinterpret_cast<rocksdb::DB**>(db);
    return PolicyTextOf(database->GetOptions(
        family == nullptr
            ? database->DefaultColumnFamily()
            : *reinterpret_cast<rocksdb::ColumnFamilyHandle**>(family)));
  });
}

char* deltabloom_rocksdb_check(const char* text, char** errptr) {
  return TextForC(errptr, [&] {
    Register();
    RequireObject(text, "text");
    return FullText(text);
  });
}

}  // extern "C"
