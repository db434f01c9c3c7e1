// The functions of deltabloom/c.h for range scans in RocksDB.
//
// RocksDB's C types are private to its db/c.cc. Those that are needed here
// begin with the C++ object or a pointer to it, and rocksdb_iterator_t is
// nothing but that pointer: read in all tags from v7.0.3 to v11.8.1 and in 11.9
// as developed at 1dfa7297. A wrong version of the library is refused before
// (policy.h), and two of the types are checked once more at run time.
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/ranges/collector.h"
#include "rocksdb/c.h"
#include "rocksdb/db.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "util/c_error.h"
#include "util/json.h"

struct deltabloom_rocksdb_ranges_t {
  const std::shared_ptr<deltabloom::RocksDBRanges> ranges;
};

namespace deltabloom::internal {
namespace {

// Returns the first sizeof(T) bytes of the C type as a T. RocksDB's C types
// begin with the C++ object that they wrap.
template <typename T, typename CType>
T BeginningOf(const CType* object) {
  T beginning;
  std::memcpy(&beginning, object, sizeof(T));
  return beginning;
}

const rocksdb::ReadOptions& OptionsIn(const rocksdb_readoptions_t* options) {
  return *reinterpret_cast<const rocksdb::ReadOptions*>(options);
}
rocksdb::Options* OptionsIn(rocksdb_options_t* options) {
  return reinterpret_cast<rocksdb::Options*>(options);
}

// Returns whether RocksDB's C types have the layout that OptionsIn() assumes:
// values set by RocksDB's own C functions must be found at those places.
bool CTypesAreKnown() {
  constexpr size_t kBytes = 12345678;
  const std::unique_ptr<rocksdb_readoptions_t,
                        decltype(&rocksdb_readoptions_destroy)>
      read(rocksdb_readoptions_create(), rocksdb_readoptions_destroy);
  rocksdb_readoptions_set_readahead_size(read.get(), kBytes);
  rocksdb_readoptions_set_fill_cache(read.get(), 0);
  const std::unique_ptr<rocksdb_options_t, decltype(&rocksdb_options_destroy)>
      options(rocksdb_options_create(), rocksdb_options_destroy);
  rocksdb_options_set_write_buffer_size(options.get(), kBytes);
  return OptionsIn(read.get()).readahead_size == kBytes &&
         !OptionsIn(read.get()).fill_cache &&
         OptionsIn(options.get())->write_buffer_size == kBytes;
}

void RequireKnownCTypes() {
  static const bool known = CTypesAreKnown();
  if (!known) {
    Require(
        "the loaded RocksDB library has other C types than its version: use an "
        "unmodified one, or range filters in C++");
  }
}

void RequireGiven(const void* argument, const char* name) {
  if (argument == nullptr) Require(std::string(name) + " is null");
}

// fn(); null or 0 if it throws, and the text of the exception in *errptr.
template <typename Fn>
auto CatchRanges(char** errptr, Fn fn) {
  std::string error;
  const auto result = Catch(&error, fn);
  if (!error.empty()) SetError(errptr, error, {});
  return result;
}

std::string_view Bytes(const char* bytes, size_t size, const char* name) {
  if (size > 0) RequireGiven(bytes, name);
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
}

// rocksdb_iter_destroy() deletes both.
struct CIterator {
  rocksdb::Iterator* iterator;
};

// `make` makes an iterator of the database, with options and family in C++.
template <typename Make>
rocksdb_iterator_t* MakeCIterator(deltabloom_rocksdb_ranges_t* ranges,
                                  rocksdb_t* db,
                                  const rocksdb_readoptions_t* options,
                                  rocksdb_column_family_handle_t* family,
                                  char** errptr, const Make& make) {
  return CatchRanges(errptr, [&]() -> rocksdb_iterator_t* {
    RequireGiven(ranges, "ranges");
    RequireGiven(db, "db");
    RequireGiven(options, "options");
    RequireKnownCTypes();
    auto* const database = BeginningOf<rocksdb::DB*>(db);
    auto* const handle =
        family == nullptr ? database->DefaultColumnFamily()
                          : BeginningOf<rocksdb::ColumnFamilyHandle*>(family);
    auto shell = std::make_unique<CIterator>();
    shell->iterator = make(database, OptionsIn(options), handle).release();
    return reinterpret_cast<rocksdb_iterator_t*>(shell.release());
  });
}

}  // namespace
}  // namespace deltabloom::internal

using namespace deltabloom::internal;  // NOLINT

extern "C" {

deltabloom_rocksdb_ranges_t* deltabloom_rocksdb_ranges_create(
    const char* options, char** errptr) {
  return CatchRanges(errptr, [&] {
    Register();
    std::string error;
    auto ranges = deltabloom::RocksDBRanges::New(
        ParseRangeOptions(options == nullptr ? "" : options), &error);
    if (ranges == nullptr) throw std::runtime_error(error);
    return new deltabloom_rocksdb_ranges_t{std::move(ranges)};
  });
}

void deltabloom_rocksdb_ranges_destroy(deltabloom_rocksdb_ranges_t* ranges) {
  delete ranges;
}

unsigned char deltabloom_rocksdb_ranges_add_to(
    deltabloom_rocksdb_ranges_t* ranges, rocksdb_options_t* options,
    char** errptr) {
  return CatchRanges(errptr, [&] {
    RequireGiven(ranges, "ranges");
    RequireGiven(options, "options");
    RequireKnownCTypes();
    std::string error;
    if (!ranges->ranges->AddTo(OptionsIn(options), &error)) {
      throw std::runtime_error(error);
    }
    return true;
  });
}

rocksdb_iterator_t* deltabloom_rocksdb_ranges_create_iterator(
    deltabloom_rocksdb_ranges_t* ranges, rocksdb_t* db,
    const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* family, const char* lower,
    size_t lower_length, const char* upper, size_t upper_length,
    char** errptr) {
  return MakeCIterator(
      ranges, db, options, family, errptr,
      [&](auto* database, const auto& with, auto* handle) {
        const std::string_view from = Bytes(lower, lower_length, "lower");
        std::optional<std::string_view> to =
            Bytes(upper, upper_length, "upper");
        if (upper == nullptr) to.reset();
        return ranges->ranges->NewIterator(database, with, handle, from, to);
      });
}

rocksdb_iterator_t* deltabloom_rocksdb_ranges_create_prefix_iterator(
    deltabloom_rocksdb_ranges_t* ranges, rocksdb_t* db,
    const rocksdb_readoptions_t* options,
    rocksdb_column_family_handle_t* family, const char* prefix,
    size_t prefix_length, char** errptr) {
  return MakeCIterator(ranges, db, options, family, errptr,
                       [&](auto* database, const auto& with, auto* handle) {
                         return ranges->ranges->NewPrefixIterator(
                             database, with, handle,
                             Bytes(prefix, prefix_length, "prefix"));
                       });
}

char* deltabloom_rocksdb_ranges_statistics(
    const deltabloom_rocksdb_ranges_t* ranges, const char* format,
    char** errptr) {
  return CatchRanges(errptr, [&] {
    RequireGiven(ranges, "ranges");
    const std::string wanted = format == nullptr ? "" : format;
    const auto statistics = ranges->ranges->Statistics();
    std::string text;
    if (wanted == "json") {
      text = statistics.ToJson();
    } else if (wanted == "prometheus") {
      text = statistics.ToPrometheus();
    } else if (wanted == "text") {
      text = statistics.ToText();
    } else {
      Require("format " + Quote(wanted) +
              " is unknown: use json, prometheus or text");
    }
    char* const copy = CopyForC(text);
    if (copy == nullptr) throw std::bad_alloc();
    return copy;
  });
}

}  // extern "C"
