// One RocksDB database per filter: filled with the same keys in the same order,
// brought to the planned tree, then opened for measuring without compactions.
#ifndef DELTABLOOM_DB_BENCH_EXT_DB_DATABASE_H_
#define DELTABLOOM_DB_BENCH_EXT_DB_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/db/contenders.h"
#include "db_bench_ext/db/plan.h"
#include "db_bench_ext/db/tree.h"

namespace deltabloom::db_reads {

// The same for all databases of a run.
struct DatabaseOptions {
  size_t value_bytes = 64;
  size_t cache_bytes = 1 << 20;
  uint64_t table_bytes = 4 << 20;
  bool filters_in_cache = false;  // else in memory beside it
  bool direct_io = false;

  // On disk, headers and restart points included.
  uint64_t EntryBytes() const { return value_bytes + 29; }
};

class Database {
 public:
  // `keys` must outlive the database.
  Database(Contender contender, Policy policy, std::string path,
           const DatabaseOptions& options, const KeySet& keys);
  ~Database();

  // Builds the planned tree, of which load_seconds() is the time, and opens the
  // database for measuring. Throws std::runtime_error, also if a settled tree
  // is not as planned, a table has no filter or one that it should not have.
  //
  // A settled tree is built from the last level upwards by explicit
  // compactions. A listener is added before level 1 is written, as in a
  // database that exists already; the levels are then written again, untimed,
  // as RocksDB's own compactions would in time: only then their filters are
  // those for the whole tree.
  void Build(const TreePlan& plan, bench::ProgressBar* progress);

  const std::string& path() const { return path_; }
  const Contender& contender() const { return contender_; }
  const std::vector<double>& bits() const { return policy_.bits; }
  bool has_filter() const { return policy_.filters != nullptr; }
  size_t value_bytes() const { return options_.value_bytes; }
  double load_seconds() const { return load_seconds_; }
  const Tree& tree() const { return tree_; }
  rocksdb::DB* db() const { return db_.get(); }
  uint64_t Ticker(rocksdb::Tickers ticker) const;

  // The numbers of the present keys.
  const std::vector<uint64_t>& present() const { return present_; }

 private:
  rocksdb::Options CommonOptions() const;
  void Open(const rocksdb::Options& options);
  void Close();
  void Settle(const TreePlan& plan, bench::ProgressBar* progress);
  void WriteAgain(const TreePlan& plan);
  void Grow(const TreePlan& plan, bench::ProgressBar* progress);
  void WaitForCompactions();
  // Makes write number 0, 1, ..., then flushes.
  void Write(uint64_t writes,
             const std::function<History::Write(uint64_t)>& next,
             bench::ProgressBar* progress);
  // All of level `from` becomes one sorted run on level `to`, which is the same
  // or empty, as are the levels between.
  void CompactLevel(int from, int to);
  void CheckTree(const TreePlan& plan) const;
  void Check(const rocksdb::Status& status, const char* action) const;

  const Contender contender_;
  const Policy policy_;
  const std::string path_;
  const DatabaseOptions options_;
  const KeySet& keys_;
  bool partitioned_ = false;
  bool listening_ = false;
  double load_seconds_ = 0;
  std::vector<uint64_t> present_;
  Tree tree_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
};

// The most bytes on disk that `databases` of the plan need.
uint64_t EstimateDiskBytes(const TreePlan& plan, const DatabaseOptions& options,
                           size_t databases);

}  // namespace deltabloom::db_reads

#endif  // DELTABLOOM_DB_BENCH_EXT_DB_DATABASE_H_
