// Deltabloom's filters in RocksDB: a FilterPolicy for unmodified RocksDB, 7.0.3
// to 11.12. A database may switch to it and back: docs/compatibility.md.
//
//   rocksdb::BlockBasedTableOptions table_options;
//   table_options.filter_policy = deltabloom::NewRocksDBFilterPolicyOrThrow();
//
// Check every result: RocksDB silently treats a null policy as "no filter". A
// function here that fails sets *error to one line; if `error` is null it
// prints the line to standard error, each line once in a process. All functions
// are thread-safe.
#ifndef DELTABLOOM_ROCKSDB_H_
#define DELTABLOOM_ROCKSDB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class FilterPolicy;
struct ColumnFamilyOptions;
}  // namespace rocksdb

namespace deltabloom {

// The name under which RocksDB stores and finds the filters.
enum class RocksDBCompatibility : uint8_t {
  // The name of RocksDB's own filters. Existing Bloom and Ribbon filters stay
  // in use; RocksDB without Deltabloom gets "may match" from these filters.
  kBuiltin,
  // A name of Deltabloom's own. Policies of either name ignore the other's
  // filters.
  kOwn,
};

inline constexpr uint64_t kUnlimited = UINT64_MAX;

// Bits per key that upper_bits_per_key adds to bits_per_key by default, with
// layout kCompact. docs/design.md ("Bits of a table") derives it.
inline constexpr double kUpperStepBits = 2.5;

struct DELTABLOOM_EXPORT RocksDBFilterOptions {
  // Bits of filter per key, rounded to thousandths, of bottommost tables.
  // RocksDB calls a table bottommost if no older data of its keys is below it;
  // nearly all tables of the last level are. Tables that SstFileWriter writes,
  // and all tables under FIFO compaction, also get this number. Legal: 0 to
  // 1000. With less than 0.5, before rounding, these tables have no filter.
  double bits_per_key = 10;

  // Bits of filter per key of all other tables, which hold few of the keys, but
  // whose filters a lookup queries, one in each sorted run. Legal: bits_per_key
  // to 1000. If it is unset, it follows bits_per_key: with layout kCompact it
  // is kUpperStepBits more, up to 1000; with other layouts, or if bits_per_key
  // is less than 0.5, it is bits_per_key. Set it to bits_per_key for the same
  // bits in all tables.
  std::optional<double> upper_bits_per_key;

  // The format of the filters. kCompact has the fewest false positives, kLocal
  // is the fastest to build. Use kClassic in RocksDB for comparisons only.
  Layout layout = Layout::kCompact;

  // Limit of the temporary memory for building a filter, in bytes; 0: no limit.
  // See FilterOptions::max_build_bytes.
  uint64_t max_build_bytes = 0;

  // Limit of the size of a filter, or of each partition of a partitioned
  // filter, in bytes. Legal: 1 or more. A filter that would be larger gets
  // fewer bits per key; if fewer than 2 were left, it is replaced by 17 bytes
  // that match every key. The LOG says so once for each of these cases.
  uint64_t max_filter_bytes = kUnlimited;

  RocksDBCompatibility compatibility = RocksDBCompatibility::kBuiltin;

  // Adds a check of 8 bytes to each filter, which is verified when the filter
  // is opened. A filter with changed bits then answers "may match".
  bool payload_check = false;

  // Protects against an attacker who controls keys and constructs false
  // positives, but cannot read the files or the memory of the database
  // (SECURITY.md): the filters of each table use a keyed hash with a random
  // seed. Adds 16 bytes to each filter, and about 18 ns to each lookup and each
  // added key of 16 bytes. If the system returns no random bytes, no filter is
  // written, and the LOG says so.
  bool seeded = false;

  // "none", or the key transform that the comparator needs (key_transform.h):
  // NAME@VERSION, or NAME for the highest version that is registered. Only
  // filters of this transform are queried.
  std::string key_transform = "none";

  // Counts lookups (deltabloom/rocksdb_statistics.h), which takes one to two
  // nanoseconds each. A change at run time affects filters that are built or
  // opened after it.
  bool statistics = true;

  // Interval in seconds at which flushes and compactions write the statistics
  // to the LOG. Legal: 0 (never) to 2^32 - 1.
  uint32_t statistics_log_seconds = 600;

  // Returns an empty string, or one line: the invalid option, its value and the
  // legal range.
  std::string Validate() const;
};

// Returns a policy, or null with *error as above, which says what is wrong (an
// option, or a RocksDB library of another version than the headers Deltabloom
// was compiled with) and what to do. Also registers it, as RegisterRocksDB()
// does. Neither this function nor the policy throws: if memory runs out, no
// filter is written, or one that matches every key.
DELTABLOOM_EXPORT std::shared_ptr<const rocksdb::FilterPolicy>
NewRocksDBFilterPolicy(const RocksDBFilterOptions& options = {},
                       std::string* error = nullptr);

// Returns whether the options of a column family can be used with the key
// transform of its filter policy. If not, it sets *error as above. RocksDB
// checks this in DB::Open only: call it before CreateColumnFamily,
// DB::OpenForReadOnly, OpenAsSecondary and SetOptions of the prefix extractor.
DELTABLOOM_EXPORT bool CheckRocksDBFilters(
    const rocksdb::ColumnFamilyOptions& family, std::string* error = nullptr);

// Sets options->bits_per_key to the largest number at which the filters of all
// present tables of these column families take at most filter_bytes together,
// once compaction has rewritten the tables; unsets options->upper_bits_per_key.
// The tables of the lowest level of each family count as bottommost, those of
// level 0 never. Partitioned filters take some per cent more. Then pass
// bits_per_key to DB::SetOptions of each family, which only the process that
// has opened the database can do (docs/guide.md, "A total for all filters").
//
// Reads the properties of all tables, for which RocksDB opens each table that
// is not in its table cache. Call it rarely, not on a path of reads or writes.
// Returns false without a change, with *error as above, if the properties
// cannot be read or if 0.5 bits per key are too many.
DELTABLOOM_EXPORT bool FitRocksDBFilters(
    rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& families,
    uint64_t filter_bytes, RocksDBFilterOptions* options,
    std::string* error = nullptr);

// Does what NewRocksDBFilterPolicy does, but throws std::runtime_error with the
// text of *error instead of returning null. Not declared in code compiled with
// -fno-exceptions.
#ifdef __cpp_exceptions
inline std::shared_ptr<const rocksdb::FilterPolicy>
NewRocksDBFilterPolicyOrThrow(const RocksDBFilterOptions& options = {}) {
  std::string error;
  auto policy = NewRocksDBFilterPolicy(options, &error);
  if (policy == nullptr) throw std::runtime_error(error);
  return policy;
}
#endif

// Makes the policy known to RocksDB by name, for
// FilterPolicy::CreateFromString, OPTIONS files and the options of tools:
// deltabloom:9.9:local (bits per key and layout, each with a default) or
// id=deltabloom;bits_per_key=9.9;layout=local (docs/guide.md). Unset values are
// written as upper_bits_per_key=unset and max_filter_bytes=unlimited. Switches
// are on or off; true, false, 1 and 0 are accepted as well. A key transform
// must be registered before a text names it. Options of versions before 0.1.0
// are ignored, and the LOG says which.
//
// Also registers the collector of range filters (deltabloom.range). Call it
// before a database is opened; further calls do nothing. Returns false, with
// *error as above, if the RocksDB library has the wrong version.
DELTABLOOM_EXPORT bool RegisterRocksDB(std::string* error = nullptr);

// Return the text, with all options, of the filter policy of these options, or
// of a column family of an open database (the default one if `family` is null).
// Return an empty string, with *error as above, if there is no policy, or one
// that is not Deltabloom's. RocksDB, and most programs around it, silently
// treat a text that they cannot use as "no filter": these functions tell.
DELTABLOOM_EXPORT std::string GetRocksDBFilters(
    const rocksdb::ColumnFamilyOptions& family, std::string* error = nullptr);
DELTABLOOM_EXPORT std::string GetRocksDBFilters(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family = nullptr,
    std::string* error = nullptr);

// Parses the text of a filter policy ("deltabloom:10") or of a collector of
// range filters ("deltabloom.range") as the loaded RocksDB does, and returns it
// with all options. Returns an empty string, with *error as above, if the text
// is wrong, or names another policy or none. Also does what RegisterRocksDB()
// does.
DELTABLOOM_EXPORT std::string CheckRocksDBText(const std::string& text,
                                               std::string* error = nullptr);

}  // namespace deltabloom

#endif  // DELTABLOOM_ROCKSDB_H_
