// The figures of a run: as a table and as JSON.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_REPORT_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_REPORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db_bench_ext/demo/database.h"
#include "db_bench_ext/demo/measure.h"

namespace deltabloom::demo {

struct Result {
  std::string filter;
  uint64_t keys = 0;
  TableTotals tables;
  double load_seconds = 0;
  Measurement measurement;

  double BitsPerKey() const;  // stored; 0 without a filter
  // Per filter that was asked about an absent key; none if none was asked.
  std::optional<double> FalsePositiveRate() const;
};

// What will be done, before it is done.
std::string FormatSetting(uint64_t keys, double bits_per_key,
                          const std::string& folder, bool direct_io);

// Newest first.
std::string FormatRuns(const std::vector<SortedRun>& runs);

// One line per filter.
std::string FormatTable(const std::vector<Result>& results);

// How much was looked up, and what the filter that saves most saves, of those
// with no more bytes than RocksDB's Bloom filter.
std::string FormatSummary(const std::vector<Result>& results);

std::string FormatJson(const std::vector<Result>& results);

// 1 if any filter missed a present key, else 0.
int ExitCode(const std::vector<Result>& results);

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_REPORT_H_
