// One RocksDB database per filter: filled with the same keys in the same order,
// and either brought to a planned tree and opened without compactions, or grown
// by RocksDB's own compactions. All databases look the same keys up; what
// RocksDB read is counted.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/contenders.h"
#include "db_bench_ext/demo/tree.h"

namespace deltabloom::demo {

// Options that are the same for all databases of a run.
struct DatabaseOptions {
  size_t value_bytes = 64;
  size_t cache_bytes = 1 << 20;
  uint64_t table_bytes = 4 << 20;
  bool filters_in_cache = false;  // else in memory beside it
  bool direct_io = false;

  // Returns the bytes of an entry on disk, headers and restart points included.
  uint64_t EntryBytes() const { return value_bytes + 29; }
};

class Database {
 public:
  // The key that is written as number i.
  using KeyOf = std::function<std::string(uint64_t i)>;

  Database(std::string name, Policy policy, std::string path,
           const DatabaseOptions& options, KeyOf key_of);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Builds the planned tree, of which load_seconds() is the time, and opens the
  // database for measuring. Throws std::runtime_error, also if the tree is not
  // as planned, a table has no filter or one that it should not have.
  // The tree is built from the last level upwards by explicit compactions.
  void Build(const TreePlan& plan, bench::ProgressBar* progress);

  // Writes every table again by a compaction; the sorted runs stay as they are.
  // REQUIRES: Build was called. Throws std::runtime_error.
  void Rewrite();

  // Opens the database again, with another block cache. REQUIRES: Build was
  // called. Throws std::runtime_error.
  void Reopen(size_t cache_bytes, bool filters_in_cache);

  // Opens the database in place of Build, with RocksDB's own compactions and
  // what `shape` sets. Throws std::runtime_error, as do those below.
  void OpenToGrow(std::function<void(rocksdb::Options*)> shape);

  // Writes keys begin .. end - 1. The progress advances by their number.
  void Write(uint64_t begin, uint64_t end, bench::ProgressBar* progress);
  void Flush();

  // Adds these keys, each of them once, as one table that SstFileWriter writes.
  void Ingest(uint64_t begin, uint64_t end);

  void CompactAll();

  // Waits until RocksDB has nothing to flush or compact.
  void WaitUntilIdle();

  // Reads tree() again.
  void UpdateTree();

  // The CPU time in seconds of writing one table of these keys, which ascend,
  // with the options of the database but this compression; the table is then
  // removed. Throws std::runtime_error.
  double SecondsToWriteTable(const std::vector<std::string_view>& keys,
                             rocksdb::CompressionType compression) const;

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  double setting() const { return policy_.bits_per_key; }
  bool has_filter() const { return policy_.filters != nullptr; }
  const rocksdb::FilterPolicy* filters() const { return policy_.filters.get(); }
  size_t value_bytes() const { return options_.value_bytes; }
  double load_seconds() const { return load_seconds_; }
  const Tree& tree() const { return tree_; }
  rocksdb::DB* db() const { return db_.get(); }
  uint64_t Ticker(rocksdb::Tickers ticker) const;

 private:
  rocksdb::Options CommonOptions() const;
  void Open(const rocksdb::Options& options);
  void Close();
  void Refilter();
  void BuildRuns(const TreePlan& plan, bench::ProgressBar* progress);
  // Makes all of level `from` one sorted run on level `to`, which is the same
  // or empty, as are the levels between.
  void CompactLevel(int from, int to);
  void Compact(const std::vector<std::string>& files, int to);
  void CheckTree(const TreePlan& plan) const;
  void Check(const rocksdb::Status& status, const char* action) const;

  const std::string name_;
  Policy policy_;
  const std::string path_;
  DatabaseOptions options_;
  const KeyOf key_of_;
  bool partitioned_ = false;
  uint64_t ingested_ = 0;  // tables
  double load_seconds_ = 0;
  Tree tree_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
};

// --- Lookups (measure.cc) ---------------------------------------------------

enum class Lookup : uint8_t {
  kAbsent,
  kPresent,
  kMultiAbsent,  // MultiGet in batches of 32
};

// "absent", "present", "multiget_absent", ...: as fields of the JSON begin.
const char* LookupName(Lookup lookup);

// Sums over the lookups of one kind in one database.
struct Counts {
  uint64_t lookups = 0;
  uint64_t found = 0;  // with the right value
  double micros = 0;
  uint64_t data_blocks = 0;       // from the block cache or from the file
  uint64_t data_block_reads = 0;  // from the file
  uint64_t filter_useful = 0;     // the filter was right to say "absent"
  uint64_t positives = 0;         // the filter said "may match"
  uint64_t true_positives = 0;

  uint64_t FalsePositives() const { return positives - true_positives; }
};

// Keys of one kind for one turn.
struct Batch {
  Lookup lookup = Lookup::kAbsent;
  std::vector<std::string> keys;
};

// Adds to *counts. Throws std::runtime_error if RocksDB fails or an absent key
// is found.
void LookUp(const Database& database, const Batch& batch, Counts* counts);

// Draws the keys to look up: present ones from all present keys, absent ones
// between the smallest and the largest key.
class LookupKeys {
 public:
  LookupKeys(const KeySet& keys, const Database& database);

  Batch Draw(Lookup lookup, size_t n);

 private:
  const KeySet& keys_;
  std::string smallest_, largest_;
  uint64_t absent_drawn_ = 0;
  uint64_t present_drawn_ = 0;
};

struct TurnPart {
  Lookup lookup;
  size_t keys;
};

struct MeasurePlan {
  std::vector<TurnPart> turn;
  uint64_t lookups = 0;         // of the first kind, in each database
  double max_seconds = 0;       // stop then even if fewer are done
  double steps_per_lookup = 0;  // of the progress
};

using Databases = std::vector<std::unique_ptr<Database>>;

// The counts of each database, in the order of plan.turn. All databases get the
// same keys, and each goes first equally often; one without a filter takes part
// in every eighth turn only. Throws std::runtime_error.
std::vector<std::vector<Counts>> Measure(const Databases& databases,
                                         LookupKeys* lookup_keys,
                                         const MeasurePlan& plan,
                                         bench::ProgressBar* progress);

}  // namespace deltabloom::demo
