// Statistics of the filters of a RocksDB policy, counted unless
// RocksDBFilterOptions::statistics is false. docs/guide.md explains the
// figures. All functions are thread-safe; concurrent lookups may or may not be
// included.
#ifndef DELTABLOOM_ROCKSDB_STATISTICS_H_
#define DELTABLOOM_ROCKSDB_STATISTICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "deltabloom/export.h"

namespace rocksdb {
class FilterPolicy;
}  // namespace rocksdb

namespace deltabloom {

// The figures of the filters of one layout whose tables were written for one
// level. A partition of a partitioned filter counts as a filter. Counters start
// at the last reset.
struct DELTABLOOM_EXPORT RocksDBFilterRow {
  // The level that the tables were written for; they may have been moved down
  // since, as they are. -1: not known (SstFileWriter, RocksDB's own filters).
  int level = -1;

  // "classic", "local", "compact"; or one of
  //   "empty"    a filter that holds no key, as some partitions do
  //   "always"   matches every key: memory ran out when it was built, or it is
  //              damaged, of a later version or of another key transform
  //   "rocksdb"  one of RocksDB's own, in tables written before the switch
  std::string layout;

  // Filters built, their bytes, and the entries added to them: whole keys and
  // prefixes, equal neighbours once. Exact.
  uint64_t filters_built = 0;
  uint64_t bytes_built = 0;
  uint64_t keys_built = 0;

  // Filters that RocksDB read from their tables, and their bytes. RocksDB reads
  // a filter when it opens the table, or, if filters are in the block cache,
  // whenever a lookup does not find it there.
  uint64_t filters_loaded = 0;
  uint64_t bytes_loaded = 0;

  // Keys looked up in filters, and those of them that the filters rejected.
  // Exact. Each negative saves a read of a data block.
  uint64_t lookups = 0;
  uint64_t negatives = 0;

  // The expected number of absent keys that were answered "may match". A filter
  // of rate p rejects a share of 1 - p of the absent keys, so this is the sum
  // of negatives * p / (1 - p) over the filters. Its standard deviation is
  // about its square root.
  double expected_false_positives = 0;

  // It is false for "always" and "rocksdb", whose rates are not known:
  // expected_false_positives then is 0.
  bool rate_known = false;

  // Gauges: the filters that are open now, which includes those of closed
  // tables that are still in the block cache. keys_open is estimated, as is the
  // rate (docs/guide.md has the errors); it is 0 if not known.
  uint64_t filters_open = 0;
  uint64_t bytes_open = 0;
  uint64_t keys_open = 0;

  // Returns expected_false_positives / (expected_false_positives + negatives),
  // the rate for absent keys; 0 without negatives.
  double FalsePositiveRate() const;
  // Returns the bits per key of the open filters; 0 if no keys are known.
  double BitsPerKey() const;
};

struct DELTABLOOM_EXPORT RocksDBFilterStatistics {
  // The time that the counters cover, since the last reset.
  double seconds = 0;
  // The rows, ordered by level, the unknown one last, then by layout.
  std::vector<RocksDBFilterRow> rows;

  // Returns the sum of all rows, with level -1 and layout "". Its rate_known is
  // true if that of any row is.
  RocksDBFilterRow Total() const;

  // Returns changes that would save reads, one line each: "level 6,
  // compact: 4.1 bits per key; 9.6 would save 120 reads per second". It is
  // empty if there are too few lookups to tell. docs/guide.md has the rule.
  std::vector<std::string> Advice() const;
  // Returns one JSON object, in one line.
  std::string ToJson() const;
  // Returns the text exposition format of Prometheus, version 0.0.4.
  std::string ToPrometheus() const;
  // Returns a table for people, with the advice below it. Lines end in '\n'.
  std::string ToText() const;
};

// Sets *statistics to those of the filters of `policy`, in all databases and
// column families that share it. Returns false without a change if it is not a
// policy of this library. If SetOptions replaces the policy, as it may from
// RocksDB 9.8 on, the new one starts at 0. Throws std::bad_alloc only.
DELTABLOOM_EXPORT bool GetRocksDBFilterStatistics(
    const rocksdb::FilterPolicy& policy, RocksDBFilterStatistics* statistics);

// Returns the sum over all policies of this process, destroyed ones included.
DELTABLOOM_EXPORT RocksDBFilterStatistics GetRocksDBFilterStatistics();

// Sets the counters to 0: those of one policy (false as above), or the sum of
// all. Neither affects the other. No lookup is lost.
DELTABLOOM_EXPORT bool ResetRocksDBFilterStatistics(
    const rocksdb::FilterPolicy& policy);
DELTABLOOM_EXPORT void ResetRocksDBFilterStatistics();

}  // namespace deltabloom

#endif  // DELTABLOOM_ROCKSDB_STATISTICS_H_
