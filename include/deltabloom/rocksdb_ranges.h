// Range filters in RocksDB, 7.0.3 to 11.12, by its public interfaces. Each
// table stores the declared prefixes of its keys as a table property, and a
// scan whose keys share such a prefix skips the tables that do not hold it.
//
//   range_options.prefixes = "':'";  // keys of a scan share all up to some ':'
//   auto ranges = deltabloom::RocksDBRanges::New(range_options, &error);
//   ranges->AddTo(&family_options, &error);  // before the database is opened
//   ...
//   std::unique_ptr<rocksdb::Iterator> it = ranges->NewIterator(
//       db, read_options, family, "user:17:", "user:17;");
//   for (it->SeekToFirst(); it->Valid(); it->Next()) ...
//
// A table is skipped only if it holds no key of any kind (value, delete, merge
// operand) between the bounds; its range tombstones still apply. So a scan
// finds what the same iterator and bounds find without range filters.
// docs/guide.md, "Range scans", says when it pays and when not.
#ifndef DELTABLOOM_ROCKSDB_RANGES_H_
#define DELTABLOOM_ROCKSDB_RANGES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/export.h"
#include "deltabloom/rocksdb.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class Iterator;
struct ColumnFamilyOptions;
struct ReadOptions;
}  // namespace rocksdb

namespace deltabloom {

struct DELTABLOOM_EXPORT RocksDBRangeOptions {
  // Bits of filter per key. Legal: 2 to 1000; useful from about 4 on. Each
  // prefix of a table gets the same number of them, up to 16, so a table whose
  // keys share prefixes takes fewer. A table may take 4 KiB more, however few
  // keys it has.
  double bits_per_key = 8;

  // The places at which a prefix of a key may end, as in RangeFilterOptions
  // (range_filter.h), for example "'/'" or "8,9". Functions are those of
  // RegisterPrefixFunction (prefix_function.h). "auto": every delimiter of
  // ASCII punctuation that nine in ten keys of a table have. A scan whose keys
  // share no declared prefix reads the tables as it would without range
  // filters, and counts towards Statistics().suggestion.
  std::string prefixes = "auto";

  // The order of keys: "comparator" for RocksDB's own comparators by bytes and
  // in reverse, which are recognised by name; "bytewise" or "reverse_bytewise"
  // for a comparator of another name that orders keys so.
  std::string key_order = "comparator";

  // The most bytes of one table's property. RocksDB reads it when it opens the
  // table and keeps it in memory until the table is closed, outside the block
  // cache. A table with more keys gets fewer bits per key, and no filter if
  // fewer than 2 are left for each prefix. Legal: 1 or more.
  uint64_t max_table_bytes = uint64_t{16} << 20;

  // The most temporary memory for building the filter of one table, in bytes,
  // of which a prefix takes 8. A table that needs more gets no filter. 0: no
  // limit.
  uint64_t max_build_bytes = 0;

  // "none", or a key transform (key_transform.h) that maps the order of the
  // comparator to that of bytes: a < b under the comparator exactly if
  // transform(a) < transform(b) bytewise. NAME@VERSION, or NAME for the highest
  // version that is registered.
  std::string key_transform = "none";

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range.
  std::string Validate() const;
};

// Counts what the scans of one RocksDBRanges did since it was made.
struct DELTABLOOM_EXPORT RocksDBRangeStatistics {
  // Iterators that were positioned at least once (those whose bounds leave no
  // key are not counted), and those of them that found none when they were
  // first positioned at the front.
  uint64_t scans = 0;
  uint64_t empty_scans = 0;
  // Tables that RocksDB asked for, and those of them that were skipped.
  uint64_t tables = 0;
  uint64_t tables_rejected = 0;
  // Tables that were let through in scans that found no key.
  uint64_t tables_passed_for_nothing = 0;
  // Tables that were let through because the keys of the scan share none of
  // their filter's prefixes; and those let through because they have no filter,
  // or one that cannot be used: damaged, of another version, comparator or key
  // transform, or with a prefix function that is not registered.
  uint64_t tables_without_place = 0;
  uint64_t tables_without_filter = 0;
  // Scans that RocksDB allowed only without a table filter.
  uint64_t refused = 0;
  // Tables that were built with a filter and without, and the bytes of the
  // filters.
  uint64_t filters_built = 0;
  uint64_t tables_built_without = 0;
  uint64_t bytes_built = 0;
  // A declaration to use, if half of the scans that read tables for nothing
  // share a prefix that is not declared: "94 % of 60000 empty scans share a
  // prefix that ends with '/': prefixes='/'". RocksDB's LOG has it with each
  // table that is built.
  std::string suggestion;

  // Returns one JSON object, in one line.
  std::string ToJson() const;
  // Returns the text exposition format of Prometheus, version 0.0.4. `family`
  // becomes the label of that name.
  std::string ToPrometheus(std::string_view family = "default") const;
  // Returns lines for people, each ending in '\n'.
  std::string ToText() const;
};

// The range filters of one column family: makes the filters of its tables and
// the iterators of its scans. Thread-safe. Tables and iterators keep what they
// need of it.
class DELTABLOOM_EXPORT RocksDBRanges {
 public:
  // Returns an iterator that the caller owns. It must use all of these options,
  // but need not keep the bounds among them.
  using MakeIterator =
      std::function<rocksdb::Iterator*(const rocksdb::ReadOptions&)>;

  // Returns null, with *error as in rocksdb.h, if an option is not legal or the
  // loaded RocksDB library has another version.
  static std::shared_ptr<RocksDBRanges> New(
      const RocksDBRangeOptions& options = {}, std::string* error = nullptr);

  ~RocksDBRanges();
  RocksDBRanges(const RocksDBRanges&) = delete;
  RocksDBRanges& operator=(const RocksDBRanges&) = delete;

  // Adds the collector to table_properties_collector_factories, beside others.
  // It replaces one of Deltabloom that is there, as after loading an OPTIONS
  // file. Returns false without a change, with *error as in rocksdb.h, if the
  // order of the comparator is not known and there is no key_transform.
  bool AddTo(rocksdb::ColumnFamilyOptions* family,
             std::string* error = nullptr);

  // Returns an iterator over the keys k with lower <= k < upper; without
  // `upper` over all from `lower` on. Bounds are without timestamp. The
  // iterator finds what db->NewIterator(options, family) finds within these
  // bounds and those of `options`, but skips the tables that it can. The
  // table_filter of `options`, if set, is asked first. The iterator owns copies
  // of the bounds.
  //
  // All of rocksdb::Iterator works in both directions, Refresh included, except
  // Prepare (MultiScan), which does nothing: make an iterator for each range.
  // SeekToLast and SeekForPrev first seek from the front to see whether there
  // is any key. They do not if a key was found before, if the tables so far had
  // no filter that this scan can use, or if `options` have
  // prefix_same_as_start, tailing or kBlockCacheTier. RocksDB refuses table
  // filters in some configurations (min_tombstones_for_range_conversion); then
  // no table is skipped, which is counted and, once, written to the LOG.
  //
  // With a prefix extractor, and without total_order_seek or auto_prefix_mode,
  // both bounds must have the same extracted prefix, as without range filters.
  //
  // Throws std::bad_alloc.
  std::unique_ptr<rocksdb::Iterator> NewIterator(
      rocksdb::DB* db, const rocksdb::ReadOptions& options,
      rocksdb::ColumnFamilyHandle* family, std::string_view lower,
      std::optional<std::string_view> upper);

  // Returns an iterator over all keys that begin with `prefix`; all else is as
  // above. It also works in the reverse order of bytes, where no two bounds can
  // stand for a prefix. In any other order its status is InvalidArgument.
  std::unique_ptr<rocksdb::Iterator> NewPrefixIterator(
      rocksdb::DB* db, const rocksdb::ReadOptions& options,
      rocksdb::ColumnFamilyHandle* family, std::string_view prefix);

  // Do what the functions above do, with an iterator that `make` returns: one
  // of a transaction, of a WriteBatchWithIndex, or of anything else that takes
  // ReadOptions. No key outside the bounds is returned, whether or not that
  // iterator keeps them. They return null if `make` does. Keys are ordered by
  // the comparator that AddTo got, or bytewise without AddTo. A refused table
  // filter is counted, but not written to the LOG.
  std::unique_ptr<rocksdb::Iterator> NewIterator(
      const MakeIterator& make, const rocksdb::ReadOptions& options,
      std::string_view lower, std::optional<std::string_view> upper);
  std::unique_ptr<rocksdb::Iterator> NewPrefixIterator(
      const MakeIterator& make, const rocksdb::ReadOptions& options,
      std::string_view prefix);

  RocksDBRangeStatistics Statistics() const;

 private:
  struct Rep;
  explicit RocksDBRanges(std::shared_ptr<Rep> rep);

  const std::shared_ptr<Rep> rep_;
};

}  // namespace deltabloom

#endif  // DELTABLOOM_ROCKSDB_RANGES_H_
