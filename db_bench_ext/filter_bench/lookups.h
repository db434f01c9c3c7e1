// The timed loops: one chunk of fresh keys after the other, of which only the
// lookups are timed.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_LOOKUPS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_LOOKUPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "db_bench_ext/filter_bench/filters.h"
#include "db_bench_ext/filter_bench/keys.h"

namespace deltabloom::bench {

enum class Presence : uint8_t { kMiss, kHit, kMixed };

enum class Form : uint8_t {
  kOneByOne,
  kBranching,  // the caller does something else for each answer
  kDependent,  // the next key is known when the answer is
  kBatch,
};

// Which filter a lookup uses.
enum class Choice : uint8_t {
  kSingle,  // always the first
  kRandom,  // any, evenly
  kSkewed,  // 80 % of lookups go to 20 % of the filters
};

struct LookupKind {
  const char* name;
  Presence presence;
  Form form;
  Choice choice;
};

// All that are measured, in the order of tables.
const std::vector<LookupKind>& AllLookupKinds();

class LookupLoop {
 public:
  // The most keys that RocksDB's MultiGet looks up in one call of a filter.
  static constexpr size_t kBatch = 32;

  // `filters` must outlive the loop. Loops with different `stream` look up
  // different keys.
  LookupLoop(const LookupKind& kind, const std::vector<BuiltFilter>& filters,
             const KeyMaker& maker, uint64_t stream);

  // Makes the next keys.
  void Prepare();

  // Looks all of them up; in seconds.
  double Run();

  // Lookups of one Run.
  uint64_t Lookups() const { return lookups_; }
  // Of all runs.
  uint64_t Matches() const { return matches_; }

 private:
  size_t NextFilter();
  void SetKey(size_t i, size_t filter);
  uint64_t RunOneByOne();
  uint64_t RunBranching();
  uint64_t RunDependent();
  uint64_t RunBatch(size_t first, FilterBitsReader* reader);
  uint64_t RunBatches();
  uint64_t RunOneByOneMany();
  uint64_t RunBatchesMany();

  const LookupKind& kind_;
  const std::vector<BuiltFilter>& filters_;
  const KeyMaker& maker_;
  KeyChunk chunk_;
  uint64_t lookups_;
  uint64_t matches_ = 0;
  MixedNumbers random_;
  // For every key, or for every batch.
  std::vector<FilterBitsReader*> readers_;
  // The keys of batches, as the interface wants them.
  std::vector<Slice> slices_;
  std::vector<Slice*> pointers_;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_LOOKUPS_H_
