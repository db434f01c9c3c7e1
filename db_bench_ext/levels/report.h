// The figures of a run: as tables, CSV and JSON.
#ifndef DELTABLOOM_DB_BENCH_EXT_LEVELS_REPORT_H_
#define DELTABLOOM_DB_BENCH_EXT_LEVELS_REPORT_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "db_bench_ext/levels/contenders.h"
#include "db_bench_ext/levels/measure.h"
#include "db_bench_ext/levels/options.h"
#include "db_bench_ext/levels/tree.h"

namespace deltabloom::levels {

// One database.
struct Result {
  Contender contender;
  std::vector<double> bits_asked;
  Tree tree;
  LookupCounts absent;
  Prediction predicted_absent;
  std::optional<double> formula_absent;
  LookupCounts mixed;
  Prediction predicted_mixed;
  // Reads per absent lookup that the same filter bytes in this very tree would
  // leave: equally, and best spread. None without a filter.
  std::optional<double> uniform_reads;
  std::optional<double> best_reads;
};

// All databases of one tree.
struct TreeResults {
  TreePlan plan;
  std::vector<Result> results;
};

// What is done on which machine, before it is done.
std::string FormatSetting(const Options& options);

// The runs, the bytes and bits of the filters, and the reads.
std::string FormatTree(const TreeResults& tree);

void WriteCsv(const std::vector<TreeResults>& trees, std::ostream* out);
std::string FormatJson(const Options& options,
                       const std::vector<TreeResults>& trees);

}  // namespace deltabloom::levels

#endif  // DELTABLOOM_DB_BENCH_EXT_LEVELS_REPORT_H_
