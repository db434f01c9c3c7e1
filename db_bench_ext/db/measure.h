// Looks the same keys up in all databases, which take turns, and counts what
// RocksDB read.
#ifndef DELTABLOOM_DB_BENCH_EXT_DB_MEASURE_H_
#define DELTABLOOM_DB_BENCH_EXT_DB_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/db/database.h"
#include "db_bench_ext/db/plan.h"

namespace deltabloom::db_reads {

enum class Lookup : uint8_t {
  kAbsent,
  kPresent,
  kMultiAbsent,  // MultiGet in batches of 32
  kEmptyRange,   // a seek with an upper bound; nearly all ranges are empty
};

// "absent", "present", "multiget_absent", ...: as fields of the JSON begin.
const char* LookupName(Lookup lookup);

// Sums over the lookups of one kind in one database.
struct Counts {
  uint64_t lookups = 0;
  uint64_t found = 0;  // with the right value
  double micros = 0;
  uint64_t data_blocks = 0;       // from the block cache or from the file
  uint64_t data_block_reads = 0;  // from the file
  uint64_t filter_useful = 0;     // the filter was right to say "absent"
  uint64_t positives = 0;         // the filter said "may match"
  uint64_t true_positives = 0;

  uint64_t FalsePositives() const { return positives - true_positives; }
};

// Keys of one kind for one turn.
struct Batch {
  Lookup lookup = Lookup::kAbsent;
  std::vector<std::string> keys;
  std::vector<std::string> range_ends;  // for kEmptyRange
};

// Adds to *counts. Throws std::runtime_error if RocksDB fails or an absent key
// is found.
void LookUp(const Database& database, const Batch& batch, Counts* counts);

// Draws the keys to look up: present ones from all present keys, absent ones
// between the smallest and the largest key.
class LookupKeys {
 public:
  LookupKeys(const KeySet& keys, const Database& database);

  Batch Draw(Lookup lookup, size_t n);

 private:
  const KeySet& keys_;
  const std::vector<uint64_t>& present_;
  std::string smallest_, largest_;
  uint64_t absent_drawn_ = 0;
  uint64_t present_drawn_ = 0;
};

struct TurnPart {
  Lookup lookup;
  size_t keys;
};

struct MeasurePlan {
  std::vector<TurnPart> turn;
  uint64_t lookups = 0;         // of the first kind, in each database
  double max_seconds = 0;       // stop then even if fewer are done
  double steps_per_lookup = 0;  // of the progress
};

using Databases = std::vector<std::unique_ptr<Database>>;

// The counts of each database, in the order of plan.turn. All databases get the
// same keys, and each goes first equally often; one without a filter takes part
// in every eighth turn only. Throws std::runtime_error.
std::vector<std::vector<Counts>> Measure(const Databases& databases,
                                         LookupKeys* lookup_keys,
                                         const MeasurePlan& plan,
                                         bench::ProgressBar* progress);

}  // namespace deltabloom::db_reads

#endif  // DELTABLOOM_DB_BENCH_EXT_DB_MEASURE_H_
