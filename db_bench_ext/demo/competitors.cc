#include "db_bench_ext/demo/competitors.h"

namespace deltabloom::demo {

std::vector<Competitor> MakeCompetitors(double bits_per_key) {
  using rocksdb::FilterPolicy;
  std::vector<Competitor> competitors;
  competitors.push_back({"none", nullptr});
  competitors.push_back(
      {"rocksdb-bloom", std::shared_ptr<const FilterPolicy>(
                            rocksdb::NewBloomFilterPolicy(bits_per_key))});
  competitors.push_back(
      {"rocksdb-ribbon", std::shared_ptr<const FilterPolicy>(
                             rocksdb::NewRibbonFilterPolicy(bits_per_key))});
  return competitors;
}

}  // namespace deltabloom::demo
