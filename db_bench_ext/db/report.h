// The results of db_reads: one JSON object per database, from which all text is
// printed.
#ifndef DELTABLOOM_DB_BENCH_EXT_DB_REPORT_H_
#define DELTABLOOM_DB_BENCH_EXT_DB_REPORT_H_

#include <string>
#include <vector>

#include "db_bench_ext/common/results.h"
#include "db_bench_ext/db/database.h"
#include "db_bench_ext/db/measure.h"
#include "db_bench_ext/db/options.h"

namespace deltabloom::db_reads {

// The result of one database. `absent` is a sample of the absent keys that were
// looked up.
bench::Json ResultOf(const Database& database, const TreePlan& plan,
                     const std::vector<TurnPart>& turn,
                     const std::vector<Counts>& counts,
                     const std::vector<std::string>& absent);

// Adds times_fewer_than_rocksdb_bloom to the results of one tree.
void CompareWithBloom(bench::Json* results);

// The setting, before the work begins.
std::string FormatSetting(const Options& options, const std::string& folder,
                          bool direct_io);

// The sorted runs, newest first.
std::string FormatRuns(const Tree& tree);

// The results of one tree: tables, the number of lookups, missed keys, and for
// the demo the filter that reads least with no more bytes than RocksDB's Bloom.
std::string FormatResults(const Preset& preset, const bench::Json& results);

// 1 if a present key was missed, else 0.
int ExitCode(const bench::Json& results);

}  // namespace deltabloom::db_reads

#endif  // DELTABLOOM_DB_BENCH_EXT_DB_REPORT_H_
