// Looks up the same keys in every database, turn by turn, and counts what
// RocksDB had to read.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_MEASURE_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_MEASURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/keys.h"

namespace deltabloom::demo {

// Sums over the lookups of one kind in one database.
struct LookupStats {
  uint64_t lookups = 0;
  uint64_t found = 0;  // with the right value
  double micros = 0;
  uint64_t data_block_reads = 0;
  uint64_t filter_useful = 0;           // "not here", rightly
  uint64_t filter_false_positives = 0;  // "may be here", wrongly

  LookupStats& operator+=(const LookupStats& other);
};

struct Measurement {
  LookupStats absent;
  LookupStats present;
  uint64_t checked_keys = 0;         // by CheckKeys, beside the lookups
  uint64_t missed_present_keys = 0;  // of these and of present lookups
};

// Looks up `keys` one by one. Throws std::runtime_error if RocksDB fails.
LookupStats LookUp(const Database& database,
                   const std::vector<std::string>& keys);

struct KeyCheck {
  uint64_t looked_up = 0;
  uint64_t missed = 0;
};

// Looks up every key with MultiGet, or as many as time allows; misses are keys
// not found with the right value. An iterator, which asks no filter, tells the
// keys in an order in which few blocks are read twice.
KeyCheck CheckKeys(const Database& database, uint64_t expected_keys,
                   double max_seconds, bench::ProgressBar* progress);

// Draws the keys to look up: present ones among all inserted, absent ones
// between the smallest and the largest inserted.
class LookupKeys {
 public:
  LookupKeys(const KeySet& keys, std::string smallest, std::string largest,
             uint64_t seed);

  std::vector<std::string> Absent(size_t n);
  std::vector<std::string> Present(size_t n);

 private:
  const KeySet& keys_;
  const std::string smallest_;
  const std::string largest_;
  const uint64_t seed_;
  uint64_t absent_drawn_ = 0;
  uint64_t present_drawn_ = 0;
};

inline constexpr uint64_t kAbsentPerPresent = 5;

struct MeasurePlan {
  uint64_t lookups = 0;         // of absent keys, in each database
  double max_seconds = 0;       // stop after this time even if fewer are done
  double steps_per_lookup = 0;  // of the progress
};

// One element per database. For kAbsentPerPresent lookups of absent keys there
// is one of a present one, which waits for the disk whatever the filter. Those
// that were done are the same in all databases. Throws std::runtime_error.
std::vector<Measurement> Measure(
    const std::vector<std::unique_ptr<Database>>& databases,
    LookupKeys* lookup_keys, const MeasurePlan& plan,
    bench::ProgressBar* progress);

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_MEASURE_H_
