// Deltabloom's filters in RocksDB: a FilterPolicy for unmodified RocksDB, 7.0.3
// to 11.9.
//
//   rocksdb::BlockBasedTableOptions table_options;
//   table_options.filter_policy = deltabloom::NewRocksDBFilterPolicy();
//
// A database may switch to this policy and back at any time: see
// docs/compatibility.md.
#ifndef DELTABLOOM_ROCKSDB_H_
#define DELTABLOOM_ROCKSDB_H_

#include <cstdint>
#include <memory>
#include <string>

#include "deltabloom/export.h"
#include "deltabloom/filter.h"

namespace rocksdb {
class FilterPolicy;
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

struct DELTABLOOM_EXPORT RocksDBFilterOptions {
  // Bits of filter per key, used to the nearest thousandth. Legal: 0 to 1000.
  // Less than 0.5, as given here: no filter is written.
  double bits_per_key = 10;

  // kAuto: by the level the table is written for (docs/tuning.md).
  Layout layout = Layout::kClassic;

  // The most temporary memory for building a filter, as in FilterOptions; 0:
  // no limit.
  uint64_t max_build_bytes = 0;

  RocksDBCompatibility compatibility = RocksDBCompatibility::kBuiltin;

  // 8 more bytes per filter, by which a reader that opens it notices that its
  // bits were changed, and takes it for "may match". Off by default: RocksDB's
  // block checksum guards what is read from a file.
  bool payload_check = false;

  // Empty when the options can be used; else one line that names the offending
  // option, its value and the legal range.
  std::string Validate() const;
};

// A policy, or null: then *error, which may be null, says in one line what is
// wrong (an option, or a RocksDB library that does not fit the headers
// Deltabloom was compiled with) and what to do, or "out of memory". Registers
// as RegisterRocksDB() does, for SetOptions and OPTIONS files name the policy.
// Nothing throws, nor does anything that RocksDB calls: where there is no
// memory for a filter none is written, or one that matches every key.
// Thread-safe.
DELTABLOOM_EXPORT std::shared_ptr<const rocksdb::FilterPolicy>
NewRocksDBFilterPolicy(const RocksDBFilterOptions& options = {},
                       std::string* error = nullptr);

// Makes the policy known to RocksDB by name, for
// FilterPolicy::CreateFromString, OPTIONS files and the options of tools:
//
//   deltabloom                 the defaults above
//   deltabloom:9.9             bits per key
//   deltabloom:9.9:local       bits per key and layout: classic, local,
//                              compact, auto
//   id=deltabloom;bits_per_key=9.9;layout=classic;compatibility=own
//
// Call it before a database is opened; again does no harm. False, with *error
// as above, if the RocksDB library does not fit.
DELTABLOOM_EXPORT bool RegisterRocksDB(std::string* error = nullptr);

}  // namespace deltabloom

#endif  // DELTABLOOM_ROCKSDB_H_
