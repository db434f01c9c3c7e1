#include "engines/rocksdb/plugin/ranges_module.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/api/c_calls.h"
#include "engines/rocksdb/api/register.h"
#include "engines/rocksdb/ranges/collector.h"
#include "rocksdb/db.h"
#include "rocksdb/iterator.h"
#include "rocksdb/options.h"

namespace deltabloom::internal {
namespace {

using OwnedRanges = std::shared_ptr<RocksDBRanges>;

RocksDBRanges& RangesAt(const void* ranges) {
  RequireGiven(ranges, "ranges");
  return **static_cast<const OwnedRanges*>(ranges);
}

void* CreateRanges(const char* options, char** error) {
  return CatchLine(error, [options]() -> void* {
    Register();
    std::string line;
    OwnedRanges ranges = RocksDBRanges::New(
        ParseRangeOptions(options == nullptr ? "" : options), &line);
    if (ranges == nullptr) throw std::runtime_error(line);
    return new OwnedRanges(std::move(ranges));
  });
}

void DestroyRanges(void* ranges) { delete static_cast<OwnedRanges*>(ranges); }

template <typename Options>
int AddRangesTo(void* ranges, void* options, char** error) {
  return CatchLine(error, [ranges, options] {
    RequireGiven(options, "options");
    std::string line;
    if (!RangesAt(ranges).AddTo(static_cast<Options*>(options), &line)) {
      throw std::runtime_error(line);
    }
    return 1;
  });
}

// `scan` makes the iterator of what it gets.
template <typename Scan>
void* NewScan(void* ranges, void* db, const void* options, void* family,
              char** error, const Scan& scan) {
  return CatchLine(error, [&]() -> void* {
    RequireGiven(db, "db");
    RequireGiven(options, "options");
    RequireGiven(family, "family");
    return scan(RangesAt(ranges), static_cast<rocksdb::DB*>(db),
                *static_cast<const rocksdb::ReadOptions*>(options),
                static_cast<rocksdb::ColumnFamilyHandle*>(family))
        .release();
  });
}

void* NewRangeIterator(void* ranges, void* db, const void* options,
                       void* family, const char* lower, size_t lower_size,
                       const char* upper, size_t upper_size, char** error) {
  return NewScan(ranges, db, options, family, error,
                 [&](RocksDBRanges& of, auto* in, auto& with, auto* keys) {
                   std::optional<std::string_view> to;
                   if (upper != nullptr) to.emplace(upper, upper_size);
                   return of.NewIterator(
                       in, with, keys, BytesOf(lower, lower_size, "lower"), to);
                 });
}

void* NewPrefixIterator(void* ranges, void* db, const void* options,
                        void* family, const char* prefix, size_t prefix_size,
                        char** error) {
  return NewScan(ranges, db, options, family, error,
                 [&](RocksDBRanges& of, auto* in, auto& with, auto* keys) {
                   return of.NewPrefixIterator(
                       in, with, keys, BytesOf(prefix, prefix_size, "prefix"));
                 });
}

char* RangeStatisticsIn(const void* ranges, const char* format, char** error) {
  return CatchLine(error, [ranges, format] {
    return CopiedAs(format, RangesAt(ranges).Statistics());
  });
}

}  // namespace

const deltabloom_ranges_module kRangesModule = {
    CreateRanges,
    DestroyRanges,
    AddRangesTo<rocksdb::Options>,
    AddRangesTo<rocksdb::ColumnFamilyOptions>,
    NewRangeIterator,
    NewPrefixIterator,
    RangeStatisticsIn,
};

}  // namespace deltabloom::internal
