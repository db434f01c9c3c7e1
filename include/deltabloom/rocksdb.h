// Deltabloom's filters in RocksDB: a FilterPolicy for unmodified RocksDB, 7.0.3
// to 11.9.
//
//   rocksdb::BlockBasedTableOptions table_options;
//   table_options.filter_policy = deltabloom::NewRocksDBFilterPolicyOrThrow();
//
// RocksDB takes a null policy for "no filters", and says nothing: functions
// here that can fail tell why in *error, and where `error` is null on standard
// error, each line once in a process.
//
// A database may switch to this policy and back at any time: see
// docs/compatibility.md.
#ifndef DELTABLOOM_ROCKSDB_H_
#define DELTABLOOM_ROCKSDB_H_

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace rocksdb {
class EventListener;
class FilterPolicy;
class SliceTransform;
struct ColumnFamilyOptions;
struct DBOptions;
}  // namespace rocksdb

namespace deltabloom {

// The name under which RocksDB stores and finds the filters.
enum class RocksDBCompatibility : uint8_t {
  // That of RocksDB's own filters. Existing Bloom and Ribbon filters stay in
  // use, and RocksDB without Deltabloom reads every key of the database: it
  // takes the filters for "may match".
  kBuiltin,
  // One of Deltabloom's own. Policies of either name ignore the other's
  // filters.
  kOwn,
};

// Which tables get how many of the bits.
enum class RocksDBAllocation : uint8_t {
  // All tables bits_per_key.
  kUniform,
  // What minimises the false positives of a lookup, summed over the sorted runs
  // of the tree, with bits_per_key on average: more for the upper levels, which
  // hold few keys, a little less for the last. Needs the listener of
  // NewRocksDBFilterListener(), which learns the tree; without it, and as long
  // as the tree is not known: uniform. Tables of SstFileWriter get
  // bits_per_key. See docs/guide.md.
  kLevels,
};

// A limit that there is not.
inline constexpr uint64_t kUnlimited = UINT64_MAX;

struct DELTABLOOM_EXPORT RocksDBFilterOptions {
  // Bits of filter per key, used to the nearest thousandth. Legal: 0 to 1000.
  // Less than 0.5, as given here: no filter is written.
  double bits_per_key = 10;

  // Instead of bits_per_key, which then has to be left as it is: the share of
  // absent keys that a filter lets through. Each filter, once its keys are
  // known, gets the fewest bits per key, at least 0.5, that its layout needs
  // for it (deltabloom/sizing.h). 0: unset, else legal from 1e-9 to less than
  // 1. Classic does not get below some keys / 2^32, compact not below 2^-32:
  // there a filter has what comes within a tenth of the least, and the LOG
  // says so, once. With RocksDBAllocation::kLevels, and once the tree is known,
  // it is the sum of the rates of all runs that a lookup asks.
  double false_positive_rate = 0;

  // kAuto: by the level the table is written for, kLocal in level 0 and
  // kCompact below (docs/guide.md). The core's own default is kClassic.
  Layout layout = Layout::kAuto;

  RocksDBAllocation allocation = RocksDBAllocation::kUniform;

  // The most temporary memory for building a filter, as in FilterOptions; 0:
  // no limit.
  uint64_t max_build_bytes = 0;

  // The most bytes of a filter (of each partition where filters are
  // partitioned). Where a filter would have more, it gets fewer bits per key;
  // where fewer than 2 would be left, none: in its place stand 17 bytes that
  // match every key. The LOG says either, once. Legal: 1 and more.
  uint64_t max_filter_bytes = kUnlimited;

  RocksDBCompatibility compatibility = RocksDBCompatibility::kBuiltin;

  // 8 more bytes per filter, by which a reader that opens it notices that its
  // bits were changed, and takes it for "may match". Off by default: RocksDB's
  // block checksum guards what is read from a file.
  bool payload_check = false;

  // Against keys that somebody chooses to collide who cannot read the files or
  // the memory of the database: the filters of every table have a random seed
  // of 16 bytes, stored in them alone, and a keyed hash. Takes some 18 ns more
  // for each lookup and each added key (docs/guide.md; SECURITY.md has what is
  // promised). Where the system gives no random bytes there is no filter, and
  // the LOG says so.
  bool seeded = false;

  // Beside the part of a filter that is asked for keys one that is asked for
  // ranges: seeks with auto_prefix_mode and an iterate_upper_bound then skip
  // tables without a key between the two (docs/guide.md). bits_per_key counts
  // both; with less than 6 there is no range part. Works with the prefix
  // extractor that AddRocksDBFilters sets, or NewRocksDBRangeExtractor() makes,
  // and with whole_key_filtering; otherwise there is no range part, and the LOG
  // says so. Needs keys in the order of their bytes: DB::Open refuses other
  // comparators than BytewiseComparator, with timestamps or without. Does not
  // go with false_positive_rate or a key_transform. When off, range parts that
  // there are already are not asked.
  bool range = false;

  // "none", or the key transform that the comparator needs (key_transform.h):
  // NAME@VERSION, or NAME for the highest version that is registered. Only
  // filters of this transform are asked.
  std::string key_transform = "none";

  // Count what the filters do (deltabloom/rocksdb_statistics.h). Costs a lookup
  // one to two nanoseconds, and nothing when off. A change at run time is for
  // filters that are built or opened from then on.
  bool statistics = true;

  // Every so many seconds the LOG gets a table of what was counted, where
  // tables are being built: flushes and compactions write it, not lookups.
  // Legal: 0 (never) to 2^32 - 1.
  uint32_t statistics_log_seconds = 600;

  // Empty when the options can be used; else one line that names the offending
  // option, its value and the legal range.
  std::string Validate() const;
};

// A policy, or null: then *error, or standard error, says in one line what is
// wrong (an option, or a RocksDB library that does not fit the headers
// Deltabloom was compiled with) and what to do, or "out of memory". Registers
// as RegisterRocksDB() does, for SetOptions and OPTIONS files name the policy.
// Nothing throws, nor does anything that RocksDB calls: where there is no
// memory for a filter none is written, or one that matches every key.
// Thread-safe.
DELTABLOOM_EXPORT std::shared_ptr<const rocksdb::FilterPolicy>
NewRocksDBFilterPolicy(const RocksDBFilterOptions& options = {},
                       std::string* error = nullptr);

// What a policy with RocksDBAllocation::kLevels needs among
// DBOptions::listeners: learns the trees of the databases it is given to, any
// number of them. One per database is enough for all its column families, and
// does no harm beside other policies. Null as above. Thread-safe.
DELTABLOOM_EXPORT std::shared_ptr<rocksdb::EventListener>
NewRocksDBFilterListener(std::string* error = nullptr);

// Policy and listener by one call: sets the filter policy in
// family->table_factory, whose other options stay as they are, and, for
// RocksDBAllocation::kLevels or with `range`, adds the listener to
// db->listeners unless one is there. For one column family,
//
//   rocksdb::Options options;
//   deltabloom::AddRocksDBFilters(filters, &options, &options, &error);
//
// `db` may be null for a column family of a database that is open already.
// With RocksDBFilterOptions::range also sets family->prefix_extractor, if it is
// not set, and checks the comparator and what else ranges need.
//
// False with *error as above, and if the table factory is not that of
// block-based tables or something does not go with ranges; then nothing is
// changed.
DELTABLOOM_EXPORT bool AddRocksDBFilters(const RocksDBFilterOptions& options,
                                         rocksdb::DBOptions* db,
                                         rocksdb::ColumnFamilyOptions* family,
                                         std::string* error = nullptr);

// The prefix extractor that RocksDBFilterOptions::range needs, named
// deltabloom.Range: every key has the same, empty prefix. Null as above.
//
// RocksDB does not tell it the order of keys. So it does its work only in
// column families of which AddRocksDBFilters, DB::Open or CheckRocksDBFilters
// saw the comparator. Do not give one to column families of different
// comparators. Thread-safe.
DELTABLOOM_EXPORT std::shared_ptr<const rocksdb::SliceTransform>
NewRocksDBRangeExtractor(std::string* error = nullptr);

// Makes the checks that RocksDB makes in DB::Open, and nowhere else, for the
// options of a column family before CreateColumnFamily, DB::OpenForReadOnly,
// OpenAsSecondary or SetOptions of the prefix extractor: that comparator, index
// and prefix extractor go with the filter policy. False with *error as above if
// they do not. Thread-safe.
DELTABLOOM_EXPORT bool CheckRocksDBFilters(
    const rocksdb::ColumnFamilyOptions& family, std::string* error = nullptr);

// What RocksDBAllocation::kLevels does in the databases that are open in this
// process and have a listener, as JSON: for each database and column family the
// bits per key asked for and those on disk, the sorted runs with their files,
// keys and bits, the false positives expected per lookup of an absent key, and
// what a table written now would get, by level (docs/guide.md has an example).
// Column families whose policy is another are listed with their runs. Returns
// {"databases":[]} if there is none. Thread-safe.
DELTABLOOM_EXPORT std::string RocksDBFilterLevelsJson();

// The same where exceptions are in use: std::runtime_error with that line
// instead of null or false. Not there in code compiled with -fno-exceptions.
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
//
//   deltabloom                 the defaults above
//   deltabloom:9.9             bits per key; layout auto
//   deltabloom:9.9:local       bits per key and layout: classic, local,
//                              compact, auto
//   deltabloom:9.9:auto:levels also the allocation: uniform, levels
//   id=deltabloom;bits_per_key=9.9;layout=classic;compatibility=own
//   id=deltabloom;false_positive_rate=0.01;max_filter_bytes=1048576
//
// In text bits_per_key=unset stands beside a false_positive_rate, and
// max_filter_bytes=unlimited for no limit. Switches are on or off; true, false,
// 1 and 0 are read as well.
//
// and the listener, for EventListener::CreateFromString and OPTIONS files:
//
//   listeners=deltabloom
//
// and the prefix extractor of ranges, for SliceTransform::CreateFromString and
// OPTIONS files:
//
//   prefix_extractor=deltabloom.Range
//
// A key transform that such a text names must be registered before.
//
// Call it before a database is opened; again does no harm. False, with *error
// as above, if the RocksDB library does not fit.
DELTABLOOM_EXPORT bool RegisterRocksDB(std::string* error = nullptr);

}  // namespace deltabloom

#endif  // DELTABLOOM_ROCKSDB_H_
