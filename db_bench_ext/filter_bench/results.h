// What was found out, row by row, and how it is shown.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RESULTS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RESULTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "db_bench_ext/filter_bench/options.h"

namespace deltabloom::bench {

// What is measured together, alternating between the competitors.
struct Setting {
  uint64_t keys = 0;
  uint64_t key_bytes = 0;
  double bits_per_key = 0;
};

// All combinations that the options ask for.
std::vector<Setting> SettingsOf(const Options& options);

// One competitor in one setting, with one number of threads.
struct Row {
  std::string competitor;
  bool is_floor = false;
  Setting setting;
  int threads = 1;
  // Counted; of filters only.
  double stored_bits_per_key = 0;
  double false_positive_rate = 0;
  double false_positive_error = 0;  // one standard deviation
  uint64_t false_positive_samples = 0;
  std::optional<double> theoretical_rate;
  double build_bytes_per_key = 0;
  uint64_t false_negatives = 0;
  // Medians in ns per key and thread, by the name of a LookupKind or
  // kBuildTime. What was not run is missing.
  std::map<std::string, double> times;

  std::optional<double> Time(const std::string& name) const;
  // Stored bits per bit of information, log2(1 / false_positive_rate).
  std::optional<double> BitsPerInformationBit() const;
};

inline constexpr char kBuildTime[] = "build_ns_per_key";

// One competitor in one database.
struct DatabaseRow {
  std::string competitor;  // or "none"
  bool partitioned = false;
  Setting setting;
  double stored_bits_per_key = 0;
  // Of the keys for which MultiGet asked a filter, the share for which it asked
  // in batches, and the keys per batch: for random keys and for neighbours.
  double batched_share = 0;
  double keys_per_batch = 0;
  double neighbours_per_batch = 0;
  // Medians in ns per key, by the names of AllDatabaseFigures().
  std::map<std::string, double> times;
};

// get_miss_ns, get_hit_ns, multiget_miss_ns, multiget_hit_ns, and
// multiget_neighbours_miss_ns: of absent keys that lie side by side.
const std::vector<const char*>& AllDatabaseFigures();

struct Results {
  std::vector<Row> rows;
  std::vector<DatabaseRow> database;
};

// Tables of one setting and number of threads: figures, and ratios to the
// baseline.
void PrintTables(const std::vector<Row>& rows, const std::string& baseline,
                 std::ostream* out);

void PrintDatabaseTables(const std::vector<DatabaseRow>& rows,
                         std::ostream* out);

void WriteJson(const Results& results, const Options& options,
               std::ostream* out);
void WriteCsv(const std::vector<Row>& rows, std::ostream* out);

// Writes what `write` writes to standard output if target is "-", else to that
// file, which is there afterwards as a whole or not at all. False after an
// error, of which one line has been printed.
bool WriteTo(const std::string& target,
             const std::function<void(std::ostream*)>& write);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RESULTS_H_
