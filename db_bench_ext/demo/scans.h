// The preset `ranges`: databases with the same keys of one schema and the same
// tree, each with another range filter, make the same scans in turns.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/range_filters.h"
#include "db_bench_ext/demo/schemas.h"

namespace deltabloom::demo {

struct ScanKind {
  const char* name;  // as fields of the JSON begin
  bool backward;
  Finds finds;
};

inline constexpr std::array<ScanKind, 6> kScanKinds = {{
    {"forward_none", false, Finds::kNone},
    {"forward_one", false, Finds::kOne},
    {"forward_ten", false, Finds::kTen},
    {"backward_none", true, Finds::kNone},
    {"backward_one", true, Finds::kOne},
    {"backward_ten", true, Finds::kTen},
}};

enum class TreeState : uint8_t {
  kFiveRuns,
  kFresh,        // two sorted runs
  kOverwritten,  // four, of which the last has all keys
  kCompacted,    // the same in one
};

// Counts of the scans of one kind.
struct ScanCounts {
  uint64_t scans = 0;
  uint64_t wrong = 0;          // scans that did not find exactly their keys
  uint64_t data_blocks = 0;    // from the block cache or from the file
  uint64_t tables_asked = 0;   // calls of the table filter
  std::vector<double> micros;  // per scan, of each turn
};

// A database, with what was counted.
class ScannedDatabase {
 public:
  // `keys` must outlive it.
  ScannedDatabase(const std::string& name, std::unique_ptr<RangeFilter> filter,
                  std::string path, const DatabaseOptions& options,
                  const SchemaKeys& keys);

  // Builds the tree. All data blocks are in the block cache at the end, if it
  // is large enough. Throws std::runtime_error.
  void Build(TreeState state, bench::ProgressBar* progress);

  // Makes scans and adds to the counts of their kind. Throws
  // std::runtime_error if RocksDB fails.
  void Run(const std::vector<Scan>& scans, size_t kind);

  // Writes keys into a table of its own, which is then removed, not compressed
  // and once more with RocksDB's default compression, and notes both times.
  // Throws std::runtime_error.
  void WriteTable();

  const std::string& name() const { return name_; }
  const Database& database() const { return database_; }
  // Bytes of the range filters: table properties, read with each table.
  uint64_t PropertyBytes() const;
  const ScanCounts& counts(size_t kind) const { return counts_[kind]; }
  // CPU time per key of each call of WriteTable.
  const std::vector<double>& build_nanos() const { return build_nanos_; }
  const std::vector<double>& compressed_build_nanos() const {
    return compressed_build_nanos_;
  }

 private:
  const std::string name_;
  const std::unique_ptr<RangeFilter> filter_;
  const SchemaKeys& keys_;
  Database database_;
  std::array<ScanCounts, kScanKinds.size()> counts_;
  std::vector<double> build_nanos_, compressed_build_nanos_;
};

using ScannedDatabases = std::vector<std::unique_ptr<ScannedDatabase>>;

// `scans` of each kind in each database, all the same scans; each database goes
// first equally often. Throws std::runtime_error.
void MeasureScans(const ScannedDatabases& databases, const SchemaKeys& keys,
                  uint64_t scans, double steps, bench::ProgressBar* progress);

// Each database writes the same table several times, in turns.
void MeasureBuilding(const ScannedDatabases& databases);

}  // namespace deltabloom::demo
