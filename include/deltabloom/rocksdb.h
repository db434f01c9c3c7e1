// Deltabloom's filters in RocksDB: a FilterPolicy for unmodified RocksDB, 7.0.3
// to 11.9. A database may switch to it and back: docs/compatibility.md.
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
#include <stdexcept>
#include <string>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace rocksdb {
class DB;
class EventListener;
class FilterPolicy;
struct ColumnFamilyOptions;
struct DBOptions;
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

// The distribution of bits over tables.
enum class RocksDBAllocation : uint8_t {
  // All tables get bits_per_key.
  kUniform,
  // Minimises the sum of the false-positive rates over the sorted runs of the
  // tree, with bits_per_key on average. Needs NewRocksDBFilterListener(), which
  // learns the tree; until it is known, and in SstFileWriter, tables get
  // bits_per_key. See docs/levels.md.
  kLevels,
};

inline constexpr uint64_t kUnlimited = UINT64_MAX;

struct DELTABLOOM_EXPORT RocksDBFilterOptions {
  // Bits of filter per key, rounded to thousandths. Legal: 0 to 1000. With less
  // than 0.5, before rounding, no filter is written.
  double bits_per_key = 10;

  // The false-positive rate, instead of bits_per_key, which then must have its
  // default. Legal: 1e-9 to less than 1, or 0 for unset. Each filter gets the
  // fewest bits per key, at least 0.5, with which its layout has this rate
  // (deltabloom/sizing.h). If the layout cannot reach it (compact: 2^-32,
  // classic: about keys / 2^32), the filter comes within a tenth of the least
  // rate of its layout, and the LOG says so, once. With kLevels, once the tree
  // is known, this is the sum of the rates of all runs that a lookup queries.
  double false_positive_rate = 0;

  // The bytes of all filters of the database, instead of bits_per_key. Legal:
  // up to 10^18, or 0 for unset. Needs kLevels and its listener: in a process
  // that has made no listener, DB::Open fails. Give all column families with
  // this option the same value: they share what the filters of the others
  // leave. Values are not compared by DB::Open; while they differ, the smallest
  // counts, and the LOG says so. New tables get min_bits_per_key to
  // max_bits_per_key on average; if min_bits_per_key for all keys exceeds the
  // total, the LOG says so. See docs/levels.md.
  uint64_t filter_memory = 0;

  // Limits of the average under filter_memory. Legal: 0.5 to 1000. With
  // weights_by_use, min_bits_per_key is also the least for a single run.
  double min_bits_per_key = 4;
  double max_bits_per_key = 20;

  // Weights each sorted run by the share of lookups that query it for keys it
  // does not hold. A run that few lookups query for such keys gets fewer bits,
  // at least min_bits_per_key (or bits_per_key, if less). If false, all runs
  // have the same weight. Takes effect with kLevels only, and then needs
  // statistics.
  bool weights_by_use = true;

  // kAuto: kLocal for tables of level 0, with kLevels only where their run is
  // very small; kCompact for all others.
  Layout layout = Layout::kAuto;

  RocksDBAllocation allocation = RocksDBAllocation::kUniform;

  // Limit of the temporary memory for building a filter, in bytes; 0: no limit.
  // See FilterOptions::max_build_bytes.
  uint64_t max_build_bytes = 0;

  // The most bytes of a filter, or of each partition of partitioned filters.
  // Legal: 1 or more. A larger one gets fewer bits per key; if fewer than 2
  // were left, it is replaced by 17 bytes that match every key. The LOG says
  // either, once.
  uint64_t max_filter_bytes = kUnlimited;

  RocksDBCompatibility compatibility = RocksDBCompatibility::kBuiltin;

  // Adds 8 bytes to each filter, by which a reader that opens it detects
  // changed bits; such a filter answers "may match".
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
  // nanoseconds each. Changes at run time concern filters built or opened after
  // them.
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

// Returns the listener that RocksDBAllocation::kLevels needs in
// DBOptions::listeners, one for any number of databases; or null with *error as
// above.
DELTABLOOM_EXPORT std::shared_ptr<rocksdb::EventListener>
NewRocksDBFilterListener(std::string* error = nullptr);

// Sets all that the options need: the filter policy in family->table_factory,
// whose other options stay as they are, and with kLevels the listener in
// db->listeners, unless one is there. `db` and `family` may be one
// rocksdb::Options; `db` may be null for a column family of a database that is
// open already. Returns false without a change, with *error as above, if
// NewRocksDBFilterPolicy() would fail or the table factory is not that of
// block-based tables.
DELTABLOOM_EXPORT bool AddRocksDBFilters(const RocksDBFilterOptions& options,
                                         rocksdb::DBOptions* db,
                                         rocksdb::ColumnFamilyOptions* family,
                                         std::string* error = nullptr);

// Reads the tree of an open database for RocksDBAllocation::kLevels. Call it
// before DB::CompactFiles, of which RocksDB does not tell listeners: until the
// first flush or compaction after DB::Open the tree is not known, and tables
// get uniform bits, as the LOG says. Takes as long as
// GetAllColumnFamilyMetaData. Returns false, with *error as above, if the
// database has no listener of Deltabloom.
DELTABLOOM_EXPORT bool ReadRocksDBTree(rocksdb::DB* db,
                                       std::string* error = nullptr);

// Returns whether the options of a column family go with the key transform of
// its filter policy; false with *error as above. RocksDB checks this in
// DB::Open only: call it before CreateColumnFamily, DB::OpenForReadOnly,
// OpenAsSecondary and SetOptions of the prefix extractor.
DELTABLOOM_EXPORT bool CheckRocksDBFilters(
    const rocksdb::ColumnFamilyOptions& family, std::string* error = nullptr);

// Returns the state of RocksDBAllocation::kLevels in the databases that are
// open in this process and have a listener, as JSON (docs/levels.md has the
// fields):
// {"databases":[]} if there is none.
DELTABLOOM_EXPORT std::string RocksDBFilterLevelsJson();

// Returns text for Prometheus: the filter_memory of each of these databases,
// the bytes of its filters, and the share of lookups that query its runs for
// keys which these do not hold.
DELTABLOOM_EXPORT std::string RocksDBFilterLevelsPrometheus();

// NewRocksDBFilterPolicy and AddRocksDBFilters, but throwing std::runtime_error
// with the text of *error. Not declared in code compiled with -fno-exceptions.
#ifdef __cpp_exceptions
inline std::shared_ptr<const rocksdb::FilterPolicy>
NewRocksDBFilterPolicyOrThrow(const RocksDBFilterOptions& options = {}) {
  std::string error;
  auto policy = NewRocksDBFilterPolicy(options, &error);
  if (policy == nullptr) throw std::runtime_error(error);
  return policy;
}

inline void AddRocksDBFiltersOrThrow(const RocksDBFilterOptions& options,
                                     rocksdb::DBOptions* db,
                                     rocksdb::ColumnFamilyOptions* family) {
  std::string error;
  if (!AddRocksDBFilters(options, db, family, &error)) {
    throw std::runtime_error(error);
  }
}
#endif

// Makes the policy known to RocksDB by name, for
// FilterPolicy::CreateFromString, OPTIONS files and the options of tools:
// deltabloom:9.9:auto:levels (bits per key, layout and allocation, each with a
// default) or id=deltabloom;bits_per_key=9.9;layout=classic (docs/guide.md).
// Unset values are written as bits_per_key=unset, filter_memory=unset and
// max_filter_bytes=unlimited. Switches are on or off; true, false, 1 and 0 are
// accepted as well. A key transform must be registered before a text names it.
//
// Also registers the listener (listeners=deltabloom) and the collector of range
// filters (deltabloom.range). Call it before a database is opened; further
// calls do nothing. Returns false, with *error as above, if the RocksDB library
// has the wrong version.
DELTABLOOM_EXPORT bool RegisterRocksDB(std::string* error = nullptr);

}  // namespace deltabloom

#endif  // DELTABLOOM_ROCKSDB_H_
