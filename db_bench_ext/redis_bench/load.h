// Runs one way to ask or fill a filter from many connections at once, for a
// bounded time.
#ifndef DELTABLOOM_DB_BENCH_EXT_REDIS_BENCH_LOAD_H_
#define DELTABLOOM_DB_BENCH_EXT_REDIS_BENCH_LOAD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace deltabloom::bench {

// Asks for or adds keys[0 .. n) in one call; found[i] is the answer. False: an
// error. Called by many threads.
using Operation =
    std::function<bool(const std::string_view* keys, size_t n, bool* found)>;

struct Load {
  unsigned connections = 1;  // one thread each, one call at a time
  size_t batch = 1;          // keys per call
  std::chrono::milliseconds time{1000};
};

struct LoadResult {
  double keys_per_second = 0;
  double p50_us = 0;  // of a call
  double p99_us = 0;
  double server_us = 0;  // of its CPU, per key
  double client_us = 0;  // of ours
  uint64_t keys = 0;
  uint64_t errors = 0;
  uint64_t not_found = 0;
};

// `server_seconds` tells the CPU time that the server has taken so far.
LoadResult Run(const Operation& operation, const Load& load,
               const std::vector<std::string_view>& keys,
               const std::function<double()>& server_seconds);

// The element-wise median by keys_per_second; sums of errors and not_found.
LoadResult Median(std::vector<LoadResult> results);

}  // namespace deltabloom::bench

#endif  // DELTABLOOM_DB_BENCH_EXT_REDIS_BENCH_LOAD_H_
