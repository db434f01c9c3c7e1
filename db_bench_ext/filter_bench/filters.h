// Filters that are built to be measured: figures that are counted, and the
// loops that are timed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "db_bench_ext/filter_bench/competitors.h"
#include "db_bench_ext/filter_bench/keys.h"

namespace deltabloom::bench {

// The most keys that RocksDB's MultiGet looks up in one call of a filter.
inline constexpr size_t kBatchKeys = 32;

// A filter of the present keys number first .. first + keys - 1.
struct BuiltFilter {
  std::unique_ptr<const char[]> owner;
  Slice bytes;
  std::unique_ptr<FilterBitsReader> reader;
  uint64_t first = 0;
  uint64_t keys = 0;
};

// *seconds, if not null, gets the time of the builder alone: keys are made
// between its calls.
BuiltFilter BuildFilter(const Competitor& competitor, const KeyMaker& maker,
                        uint64_t first, uint64_t keys,
                        double* seconds = nullptr);

// Returns the peak memory of building one filter beyond the filter itself, in
// bytes. Only one thread may call it at a time.
uint64_t MeasureBuildBytes(const Competitor& competitor, const KeyMaker& maker,
                           uint64_t keys);

struct Rate {
  uint64_t samples = 0;
  uint64_t positives = 0;
  double Value() const {
    return static_cast<double>(positives) / static_cast<double>(samples);
  }
};

// Looks up keys that are in none of the filters, each key once, until there are
// enough positives to trust the rate, or max_samples lookups.
Rate MeasureFalsePositives(const std::vector<BuiltFilter>& filters,
                           const KeyMaker& maker, uint64_t max_samples);

// Added keys that a filter rejects, among at most max_samples of them.
uint64_t CountFalseNegatives(const std::vector<BuiltFilter>& filters,
                             const KeyMaker& maker, uint64_t max_samples);

struct LookupKind {
  const char* name;
  bool present;  // added keys, else absent ones
  bool batch;
  bool many;  // each lookup, or batch, in any of the filters, else in the first
};

// Returns all kinds that are measured, in the order of tables.
const std::vector<LookupKind>& AllLookupKinds();

// Looks up one chunk of fresh keys after the other. Only the lookups are timed.
class LookupLoop {
 public:
  // `filters` must outlive the loop. Loops with different `stream` look up
  // different keys.
  LookupLoop(const LookupKind& kind, const std::vector<BuiltFilter>& filters,
             const KeyMaker& maker, uint64_t stream);

  // Makes the next keys.
  void Prepare();

  // Looks all of them up; in seconds.
  double Run();

  // Lookups of one Run.
  size_t Lookups() const { return chunk_.capacity(); }
  // Returns the matches of all runs.
  uint64_t Matches() const { return matches_; }

 private:
  const LookupKind& kind_;
  const std::vector<BuiltFilter>& filters_;
  const KeyMaker& maker_;
  KeyChunk chunk_;
  uint64_t matches_ = 0;
  MixedNumbers random_;
  // The reader of the filter that is asked for each key.
  std::vector<FilterBitsReader*> readers_;
  // The keys of batches, as the interface takes them.
  std::vector<Slice> slices_;
  std::vector<Slice*> pointers_;
};

}  // namespace deltabloom::bench
