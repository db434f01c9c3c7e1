#include "db_bench_ext/redis_bench/load.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace deltabloom::bench {
namespace {

using Clock = std::chrono::steady_clock;

double At(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(last * share)];
}

double OwnSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

LoadResult Run(const Operation& operation, const Load& load,
               const std::vector<std::string_view>& keys,
               const std::function<double()>& server_seconds) {
  std::atomic<bool> go{false}, stop{false};
  std::vector<LoadResult> results(load.connections);
  std::vector<std::vector<double>> times(load.connections);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < load.connections; ++t) {
    threads.emplace_back([&, t] {
      const auto found = std::make_unique<bool[]>(load.batch);
      LoadResult& mine = results[t];
      size_t at = keys.size() / load.connections * t;
      // The first call connects and teaches the server its script.
      operation(&keys[0], 1, found.get());
      while (!go) std::this_thread::sleep_for(std::chrono::microseconds(50));
      while (!stop) {
        if (at + load.batch > keys.size()) at = 0;
        const Clock::time_point start = Clock::now();
        const bool ok = operation(&keys[at], load.batch, found.get());
        times[t].push_back(
            std::chrono::duration<double, std::micro>(Clock::now() - start)
                .count());
        at += load.batch;
        mine.keys += load.batch;
        mine.errors += ok ? 0 : 1;
        mine.not_found += static_cast<uint64_t>(
            std::count(found.get(), found.get() + load.batch, false));
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double server_before = server_seconds(), own_before = OwnSeconds();
  const Clock::time_point start = Clock::now();
  go = true;
  std::this_thread::sleep_for(load.time);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  const double server_after = server_seconds(), own_after = OwnSeconds();
  LoadResult all;
  std::vector<double> sorted;
  for (unsigned t = 0; t < load.connections; ++t) {
    all.keys += results[t].keys;
    all.errors += results[t].errors;
    all.not_found += results[t].not_found;
    sorted.insert(sorted.end(), times[t].begin(), times[t].end());
  }
  std::sort(sorted.begin(), sorted.end());
  const auto keys_done = static_cast<double>(all.keys);
  all.server_us = (server_after - server_before) * 1e6 / keys_done;
  all.client_us = (own_after - own_before) * 1e6 / keys_done;
  all.keys_per_second = static_cast<double>(all.keys) / seconds;
  all.p50_us = At(sorted, 0.5);
  all.p99_us = At(sorted, 0.99);
  return all;
}

LoadResult Median(std::vector<LoadResult> results) {
  std::sort(results.begin(), results.end(),
            [](const LoadResult& a, const LoadResult& b) {
              return a.keys_per_second < b.keys_per_second;
            });
  LoadResult median = results[results.size() / 2];
  median.errors = median.not_found = 0;
  for (const LoadResult& one : results) {
    median.errors += one.errors;
    median.not_found += one.not_found;
  }
  return median;
}

}  // namespace deltabloom::bench
