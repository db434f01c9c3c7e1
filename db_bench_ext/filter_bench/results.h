// What was found out, row by row, and how it is shown.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RESULTS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RESULTS_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
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

// Medians in ns per key, by the names of figures. What was not run is missing.
using Times = std::map<std::string, double>;

inline constexpr char kMissTime[] = "miss_ns";
inline constexpr char kHitTime[] = "hit_ns";
inline constexpr char kBuildTime[] = "build_ns_per_key";

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
  Times times;  // per thread, by the name of a LookupKind or kBuildTime

  std::optional<double> Time(const std::string& name) const;
  // Stored bits per bit of information, log2(1 / false_positive_rate).
  std::optional<double> BitsPerInformationBit() const;
};

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
  Times times;  // by the names of AllDatabaseFigures()
};

// get_miss_ns, get_hit_ns, multiget_miss_ns, multiget_hit_ns, and
// multiget_neighbours_miss_ns: of absent keys that lie side by side.
const std::vector<const char*>& AllDatabaseFigures();

// One arrangement of the filters of a table.
struct ArrangementRow {
  std::string arrangement;
  Setting setting;
  double stored_bits_per_key = 0;  // of the filters and what finds them
  double lookup_bytes = 0;         // of them, what one lookup needs in memory
  double false_positive_rate = 0;
  double false_positive_error = 0;  // one standard deviation
  Times times;                      // kMissTime, kHitTime and kBuildTime
};

// One filter and ranges of one length, none of which holds a key.
struct RangeRow {
  std::string set;  // of keys and ranges
  uint64_t keys = 0;
  double bits_per_key = 0;  // asked for, a point part beside it included
  std::string filter;
  double stored_bits_per_key = 0;  // of what answers ranges
  uint64_t length = 0;
  double false_positive_rate = 0;
  double false_positive_error = 0;  // one standard deviation
  uint64_t samples = 0;
  double bound = 0;  // Grafite's for so many bits and any numbers; NaN: none
  // Medians; 0: not measured.
  double question_ns = 0;
  double build_ns_per_key = 0;
  double compact_build_ns_per_key = 0;  // of a point part that goes with it
};

struct Results {
  std::vector<Row> rows;
  std::vector<DatabaseRow> database;
  std::vector<ArrangementRow> arrangements;
  std::vector<RangeRow> ranges;
};

// Tables as text. The first has one setting and number of threads: figures, and
// ratios to the baseline.
std::string Tables(const std::vector<Row>& rows, const std::string& baseline);
std::string DatabaseTables(const std::vector<DatabaseRow>& rows);
std::string ArrangementTables(const std::vector<ArrangementRow>& rows);
std::string RangeTables(const std::vector<RangeRow>& rows);

nlohmann::ordered_json RangesToJson(const std::vector<RangeRow>& rows);

void WriteJson(const Results& results, const Options& options,
               std::ostream* out);
void WriteCsv(const std::vector<Row>& rows, std::ostream* out);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_RESULTS_H_
