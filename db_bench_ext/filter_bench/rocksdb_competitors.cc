#include <memory>

#include "db_bench_ext/filter_bench/competitor.h"
#include "rocksdb/filter_policy.h"
#include "util/rates/rates.h"

namespace deltabloom::bench {
namespace {

class RocksDBCompetitor : public PolicyCompetitor {
 public:
  explicit RocksDBCompetitor(const rocksdb::FilterPolicy* policy)
      : PolicyCompetitor(std::shared_ptr<const rocksdb::FilterPolicy>(policy)) {
  }

  std::optional<double> TheoreticalRate(const Slice& filter,
                                        uint64_t keys) const override {
    return internal::RocksDBFilterRate({filter.data(), filter.size()}, keys);
  }
};

}  // namespace

std::vector<CompetitorEntry> RocksDBCompetitors() {
  std::vector<CompetitorEntry> entries;
  entries.push_back({"rocksdb-bloom", false, true, [](size_t) { return 9.0; },
                     [](double bits_per_key) {
                       return std::make_unique<RocksDBCompetitor>(
                           rocksdb::NewBloomFilterPolicy(bits_per_key));
                     }});
  // Ribbon takes the bits per key of the Bloom filter with the same
  // false-positive rate. The second argument asks for it at every level.
  entries.push_back({"rocksdb-ribbon", false, true, [](size_t) { return 36.0; },
                     [](double bits_per_key) {
                       return std::make_unique<RocksDBCompetitor>(
                           rocksdb::NewRibbonFilterPolicy(bits_per_key, -1));
                     }});
  return entries;
}

}  // namespace deltabloom::bench
