// A RocksDB database with a tree of a given shape: settled, so that each level
// holds its share exactly, or grown by RocksDB's own compactions.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_DATABASE_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/levels/history.h"
#include "db_bench_ext/levels/kinds.h"

namespace deltabloom::levels {

// A tree to make.
struct TreePlan {
  Growth growth = Growth::kSettled;
  unsigned runs = 5;
  unsigned size_ratio = 10;
  uint64_t keys = 0;  // writes, where it grows
  uint64_t seed = 1;
  bool dynamic_level_bytes = false;  // where it grows

  std::string Name() const;  // "settled-5-runs-T10"
};

// Entries of each run of a settled tree, newest first; the newest is a table of
// level 0, the others fill a level each. Throws bench::UsageError if there are
// too few keys.
std::vector<uint64_t> SettledRuns(const TreePlan& plan);

class Database {
 public:
  Database(std::string path, PolicyPointer policy, ListenerPointer listener);
  ~Database();

  // Both leave it open for lookups only: no table changes any more. Throw
  // std::runtime_error. With a listener a settled tree is an existing database
  // which the policy meets when the lower levels are there; all levels but
  // level 0 are then written again, twice, as compactions do in time.
  void Settle(const TreePlan& plan, bench::ProgressBar* progress);
  void Grow(const TreePlan& plan, bench::ProgressBar* progress);

  rocksdb::DB* db() const { return db_.get(); }
  uint64_t Ticker(rocksdb::Tickers ticker) const;

  // Numbers of the keys that exist.
  const std::vector<uint64_t>& present() const { return present_; }

 private:
  void Open(const rocksdb::Options& options);
  void OpenForLookups();
  rocksdb::Options CommonOptions() const;
  void Insert(uint64_t begin, uint64_t end, uint64_t seed,
              bench::ProgressBar* progress);
  void CompactLevel(int from, int to);
  void WriteAgain(size_t levels);
  void WriteHistory(const TreePlan& plan, bench::ProgressBar* progress);
  void WaitForCompactions();
  void Check(const rocksdb::Status& status, const char* doing) const;

  const std::string path_;
  const PolicyPointer policy_;
  const ListenerPointer listener_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<uint64_t> present_;
};

// Bytes that a database of the plan needs on disk at most.
uint64_t EstimateDiskBytes(const TreePlan& plan);

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_DATABASE_H_
