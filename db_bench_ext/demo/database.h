// One RocksDB database per filter: loaded in the same order, settled to the
// same tree by explicit compactions, then opened for measuring with automatic
// compactions off.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_DATABASE_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/competitors.h"
#include "db_bench_ext/demo/keys.h"

namespace deltabloom::demo {

// A sorted run to make: `keys` of them, settled on `level`.
struct RunPlan {
  int level;
  uint64_t keys;
};

// Five runs, oldest first: each level a tenth of the one below, as leveled
// compaction keeps them, and two small files on level 0.
std::vector<RunPlan> PlanRuns(uint64_t keys);

// A sorted run as it is: a file of level 0, or all files of another level.
struct SortedRun {
  int level = 0;
  uint64_t files = 0;
  uint64_t keys = 0;
  uint64_t bytes = 0;
};

struct TableTotals {
  uint64_t filter_bytes = 0;
  uint64_t filter_entries = 0;
};

class Database {
 public:
  Database(Competitor competitor, std::filesystem::path path, bool direct_io);

  const std::string& name() const { return competitor_.name; }
  bool has_filter() const { return competitor_.policy != nullptr; }
  rocksdb::DB* db() const { return db_.get(); }
  uint64_t Ticker(rocksdb::Tickers ticker) const;

  // Inserts every key and settles the tree; takes the time. A listener meets it
  // as an existing database, before level 1 is written, and the levels are then
  // written again, untimed, as RocksDB's own compactions would in time: only
  // then their filters are those for the tree that has become known. Throws
  // std::runtime_error.
  void Load(const KeySet& keys, const std::vector<RunPlan>& plan,
            bench::ProgressBar* progress);
  double load_seconds() const { return load_seconds_; }

  // Opens it afresh, all filters in memory, to be measured. Throws
  // std::runtime_error if a table lacks the filter, or has one too many.
  void OpenForMeasuring();

  // Newest first. REQUIRES: open.
  std::vector<SortedRun> Runs() const;

  TableTotals Totals() const;

  // Keys from which every run's range can be told: the outermost ones.
  std::string SmallestKey() const;
  std::string LargestKey() const;

  void Close();

 private:
  enum class Purpose { kLoad, kMeasure };

  rocksdb::Options MakeOptions(Purpose purpose) const;
  void Open(Purpose purpose);
  void Insert(const KeySet& keys, uint64_t begin, uint64_t end,
              bench::ProgressBar* progress);
  // All of level `from` becomes one sorted run on level `to`, which is the same
  // or empty, as are the levels between.
  void CompactLevel(int from, int to);
  void Listen();
  void WriteAgain(const std::vector<RunPlan>& plan);
  void CheckFilters() const;
  [[noreturn]] void Fail(const std::string& doing,
                         const rocksdb::Status& status) const;

  Competitor competitor_;
  std::filesystem::path path_;
  bool direct_io_;
  bool listening_ = false;
  double load_seconds_ = 0;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
};

// Throws std::runtime_error if two databases differ in the level, file count or
// key count of a run.
void RequireSameTree(const std::vector<std::unique_ptr<Database>>& databases);

// Bytes on disk that `databases` of so many keys need at most, while the last
// one is being settled.
uint64_t EstimateDiskBytes(const KeySet& keys, size_t databases);

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_DATABASE_H_
