#include "db_bench_ext/demo/phases.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/growth.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {

std::vector<PhaseResult> RunPhases(const KeySet& keys, uint64_t lookups,
                                   Database* database,
                                   bench::ProgressBar* progress) {
  database->OpenToGrow(ShapeByDefault);
  WriteIdly(0, keys.size(), database, progress);
  database->UpdateTree();
  LookupKeys lookup_keys(keys, *database);
  std::vector<PhaseResult> results;
  const auto look_up = [&](Lookup lookup, uint64_t n) {
    LookUp(*database, lookup_keys.Draw(lookup, n), &results.back().counts);
  };
  const auto misses = [&](const char* name) {
    results.push_back({name, {}, {}});
    for (uint64_t done = 0; done < lookups; done += kKeysPerFlush) {
      look_up(Lookup::kAbsent, std::min(kKeysPerFlush, lookups - done));
    }
    database->UpdateTree();
    results.back().tree = database->tree();
  };
  misses("load");

  results.push_back({"hits", {}, {}});
  uint64_t written = keys.size();
  for (uint64_t done = 0; done < lookups; done += kKeysPerFlush) {
    const uint64_t n = std::min(kKeysPerFlush, lookups - done);
    look_up(Lookup::kPresent, n - n / 100);
    look_up(Lookup::kAbsent, n / 100);
    WriteIdly(written, written + n, database, progress);
    written += n;
  }
  database->UpdateTree();
  results.back().tree = database->tree();
  misses("misses");

  database->CompactAll();
  WriteIdly(written, written + keys.size() / 100, database, progress);
  misses("compacted");
  return results;
}

}  // namespace deltabloom::demo
