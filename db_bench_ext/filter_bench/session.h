// Measures all competitors in all settings. Within a setting Google Benchmark
// runs the repetitions of all timings in random order, so that what disturbs
// the machine for a while disturbs everybody.
#ifndef DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_SESSION_H_
#define DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_SESSION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/filter_bench/collector.h"
#include "db_bench_ext/filter_bench/options.h"
#include "db_bench_ext/filter_bench/results.h"

namespace deltabloom::bench {

class Session {
 public:
  Session(const Options& options, Collector* collector);
  ~Session();

  // Says on standard error how much memory a large run may take. Throws
  // std::runtime_error if this machine has not enough for a setting.
  void CheckMemory() const;

  // Calls on_rows with the rows of each setting and number of threads as they
  // come. Throws std::runtime_error if a competitor cannot run here.
  void Run(const std::function<void(const std::vector<Row>&)>& on_rows);

 private:
  struct Contestant;

  uint64_t RateFilters(const Setting& setting) const;
  uint64_t ManyFilters(const Setting& setting) const;
  double MemoryOf(const Setting& setting) const;

  void Prepare(const Setting& setting, const std::string& progress);
  void Count(Contestant* contestant);
  void Register(Contestant* contestant);
  void RegisterLookups(Contestant* contestant);
  void Time();
  std::vector<Row> Rows(int threads, const Medians& medians) const;

  const Options options_;
  Collector* const collector_;
  bool only_list_ = false;
  std::vector<std::unique_ptr<Contestant>> contestants_;
};

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_FILTER_BENCH_SESSION_H_
