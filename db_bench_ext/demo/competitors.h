// The filters that the demo compares.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_COMPETITORS_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_COMPETITORS_H_

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>

#include <memory>
#include <string>
#include <vector>

namespace deltabloom::demo {

// The name of the filter that the others are held against.
inline constexpr char kRocksDBBloom[] = "rocksdb-bloom";

struct Competitor {
  std::string name;  // as printed, as in the JSON file, and as folder name
  std::shared_ptr<const rocksdb::FilterPolicy> policy;  // null: no filter
  // What allocation=levels learns the tree from; null with other policies.
  std::shared_ptr<rocksdb::EventListener> listener;
};

// In the order in which they are shown: no filter, RocksDB's own, and
// Deltabloom in each of the layouts, "auto", or with an allocation behind it,
// "auto:levels". Throws UsageError, naming --layout, for one that does not
// exist, std::runtime_error if Deltabloom does not fit the installed RocksDB.
std::vector<Competitor> MakeCompetitors(
    double bits_per_key, const std::vector<std::string>& layouts);

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_COMPETITORS_H_
