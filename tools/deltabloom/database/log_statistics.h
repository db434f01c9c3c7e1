// Statistics of reads from the LOG of a RocksDB database, where RocksDB writes
// them every stats_dump_period_sec if the option `statistics` is set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace deltabloom::tools {

// Counters by their names in RocksDB, such as "rocksdb.bloom.filter.useful".
using Tickers = std::map<std::string, uint64_t>;

// The newest complete statistics in the text of a LOG; empty: there are none.
// Sets *time to the time of their line, as it is written there.
Tickers FindStatistics(std::string_view log, std::string* time);

// A number of events, and how many of them had the outcome of interest.
struct Outcomes {
  uint64_t all = 0;
  uint64_t part = 0;

  double Share() const {
    return static_cast<double>(part) / static_cast<double>(all);
  }
};

// These count since the process started, in all column families, and in all
// databases that share the statistics. Nothing where none was counted, or where
// this release of RocksDB does not count it.
struct LogStatistics {
  std::string file;  // "LOG"; empty: no LOG has statistics
  std::string time;
  // Keys of Get and MultiGet, and those that were not found.
  std::optional<Outcomes> gets;
  // Lookups in filters of whole keys in tables that do not hold the key, and
  // those that the filter let through: each reads a data block.
  std::optional<Outcomes> filtered;
  // Seeks of iterators, and those that found nothing within their bounds.
  std::optional<Outcomes> seeks;
  // Seeks in a sorted run that read a data block, and those none of whose
  // values was read (RocksDB 8.3 and later).
  std::optional<Outcomes> run_seeks;
};

LogStatistics StatisticsOf(const Tickers& tickers);

// Reads the statistics from the newest of the files LOG and LOG.old.* that has
// any. Returns the error if a file cannot be read; empty: none.
std::string ReadLogStatistics(const std::string& database,
                              LogStatistics* statistics);

}  // namespace deltabloom::tools
