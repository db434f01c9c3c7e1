// The filters that the demo compares.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_COMPETITORS_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_COMPETITORS_H_

#include <rocksdb/filter_policy.h>

#include <memory>
#include <string>
#include <vector>

namespace deltabloom::demo {

struct Competitor {
  std::string name;  // as printed, as in the JSON file, and as folder name
  std::shared_ptr<const rocksdb::FilterPolicy> policy;  // null: no filter
};

// In the order in which they are shown: no filter, RocksDB's own, and
// Deltabloom in each of the layouts. Throws UsageError, naming --layout, for a
// layout that does not exist, std::runtime_error if Deltabloom does not fit the
// installed RocksDB.
std::vector<Competitor> MakeCompetitors(
    double bits_per_key, const std::vector<std::string>& layouts);

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_COMPETITORS_H_
