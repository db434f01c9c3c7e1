#include "db_bench_ext/demo/competitors.h"

#include <rocksdb/convenience.h>

#include <algorithm>
#include <stdexcept>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "deltabloom/rocksdb.h"

namespace deltabloom::demo {

namespace {

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Competitor MakeDeltabloom(const std::string& bits, const std::string& layout) {
  const std::string uri = "deltabloom:" + bits + ":" + layout;
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), uri, &policy);
  if (!status.ok() || policy == nullptr) {
    const char* const reason = status.getState();
    throw bench::UsageError(
        "--layout: '" + layout +
        "': " + (reason != nullptr ? reason : "no such filter policy"));
  }
  Competitor competitor{"deltabloom-" + layout, policy, nullptr};
  std::replace(competitor.name.begin(), competitor.name.end(), ':', '-');
  if (EndsWith(layout, ":levels")) {
    std::string error;
    competitor.listener = NewRocksDBFilterListener(&error);
    if (competitor.listener == nullptr) throw std::runtime_error(error);
  }
  return competitor;
}

}  // namespace

std::vector<Competitor> MakeCompetitors(
    double bits_per_key, const std::vector<std::string>& layouts) {
  using rocksdb::FilterPolicy;
  std::string error;
  if (!RegisterRocksDB(&error)) throw std::runtime_error(error);
  std::vector<Competitor> competitors;
  competitors.push_back({"none", nullptr, nullptr});
  competitors.push_back({kRocksDBBloom,
                         std::shared_ptr<const FilterPolicy>(
                             rocksdb::NewBloomFilterPolicy(bits_per_key)),
                         nullptr});
  competitors.push_back({"rocksdb-ribbon",
                         std::shared_ptr<const FilterPolicy>(
                             rocksdb::NewRibbonFilterPolicy(bits_per_key)),
                         nullptr});
  const std::string bits = bench::Significant(bits_per_key, 10);
  for (const std::string& layout : layouts) {
    competitors.push_back(MakeDeltabloom(bits, layout));
  }
  return competitors;
}

}  // namespace deltabloom::demo
