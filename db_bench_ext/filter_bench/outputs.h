// Where results go beside the tables: files in our formats and in Google
// Benchmark's, and pictures.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OUTPUTS_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OUTPUTS_H_

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/filter_bench/collector.h"
#include "db_bench_ext/filter_bench/options.h"
#include "db_bench_ext/filter_bench/results.h"

namespace deltabloom::bench {

class Outputs {
 public:
  // Claims every place that the options name, so that one that cannot be
  // written to is known before anything is measured. Throws UsageError;
  // std::runtime_error if this machine cannot draw.
  explicit Outputs(const Options& options);

  // Throws std::runtime_error.
  void Write(const Results& results, const Collector& collector);

 private:
  void ClaimPlots();

  const Options options_;
  std::optional<OutputFile> json_;
  std::optional<OutputFile> csv_;
  std::optional<OutputFile> benchmark_out_;
  std::unique_ptr<Temporary> plots_;  // the folder, if it had to be made
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_OUTPUTS_H_
