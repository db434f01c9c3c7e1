// redis_bench: checks of and adds to filters in Redis, compared with a pipeline
// of GETBITs. A Google Benchmark program: its options and formats are Google
// Benchmark's. shared_filters/bench/run starts a server for it;
// DELTABLOOM_REDIS_PORT names its port. Overwrites the keys deltabloom-bench*.
#include <benchmark/benchmark.h>
#include <hiredis.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/filter_bench/initialize.h"
#include "deltabloom/redis_filter.h"

namespace deltabloom::bench {
namespace {

constexpr uint64_t kKeys = 1'000'000;
// go-murmur3 at 1 %.
constexpr uint64_t kBits = 9'585'059;
constexpr uint64_t kProbes = 7;
constexpr char kBitmap[] = "deltabloom-bench-bits";

int Port() {
  const char* const port = std::getenv("DELTABLOOM_REDIS_PORT");
  return port == nullptr ? 6379 : std::atoi(port);
}

void Require(const RedisStatus& status) {
  if (!status.ok()) throw std::runtime_error(status.message);
}

class Connection {
 public:
  std::vector<RedisReply> Run(const std::vector<RedisCommand>& commands) {
    std::vector<const RedisCommand*> pointers;
    for (const RedisCommand& command : commands) pointers.push_back(&command);
    std::vector<RedisReply> replies;
    const RedisStatus status = connection_->Run(
        pointers, std::chrono::steady_clock::now() + std::chrono::seconds(20),
        &replies);
    if (status.ok()) return replies;
    throw std::runtime_error(
        "no Redis server at 127.0.0.1:" + std::to_string(Port()) + ": " +
        status.message + "; use shared_filters/bench/run");
  }

  // The CPU time of the server so far.
  double ServerSeconds() {
    const std::string text = Run({{"INFO", "cpu"}})[0].text;
    double seconds = 0;
    for (const std::string field : {"used_cpu_sys:", "used_cpu_user:"}) {
      seconds += std::stod(text.substr(text.find(field) + field.size()));
    }
    return seconds;
  }

 private:
  const std::unique_ptr<RedisConnection> connection_ =
      RedisConnectionOf(redisConnect("127.0.0.1", Port()));
};

// 15 bytes, in no order.
std::string KeyOf(uint64_t i) {
  std::string digits = std::to_string(i * kGolden % 10'000'000'000);
  return "user:" + std::string(10 - digits.size(), '0') + digits;
}

// Checks or adds keys first .. first + n - 1, which are all present. Returns
// false if a key is not found.
using Operation =
    std::function<bool(Connection* connection, uint64_t first, uint64_t n)>;

// A GETBIT for each probe of each key, in one pipeline. All bits of the bitmap
// are set.
bool GetBits(Connection* connection, uint64_t first, uint64_t n) {
  std::vector<RedisCommand> commands;
  for (uint64_t i = 0; i < n * kProbes; ++i) {
    commands.push_back(
        {"GETBIT", kBitmap, std::to_string(Mix(first * kProbes + i) % kBits)});
  }
  const std::vector<RedisReply> replies = connection->Run(commands);
  return std::all_of(replies.begin(), replies.end(),
                     [](const RedisReply& bit) { return bit.integer == 1; });
}

// Creates a filter that holds all keys.
std::shared_ptr<RedisFilter> NewFilter(const std::string& scheme) {
  RedisOptions redis;
  redis.port = static_cast<uint16_t>(Port());
  redis.connect_timeout = redis.command_timeout = std::chrono::seconds(20);
  RedisFilterOptions options;
  options.name = "deltabloom-bench-" + scheme;
  options.scheme = scheme;
  options.expected_keys = kKeys;
  std::unique_ptr<RedisFilter> filter;
  Require(RedisFilter::OpenLazily(redis, options.name, &filter));
  Require(filter->Delete());
  Require(RedisFilter::Create(redis, options, &filter));
  std::unique_ptr<RedisRebuild> rebuild;
  Require(filter->StartRebuild({}, &rebuild));
  for (uint64_t i = 0; i < kKeys; ++i) rebuild->Add(KeyOf(i));
  Require(rebuild->Finish());
  return filter;
}

Operation OfFilter(const std::shared_ptr<RedisFilter>& filter, bool add) {
  return [filter, add](Connection*, uint64_t first, uint64_t n) {
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < n; ++i) keys.push_back(KeyOf(first + i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    if (add) return filter->Add(views.data(), n).ok();
    const auto found = std::make_unique<bool[]>(n);
    return filter->Check(views.data(), n, found.get()).ok() &&
           std::count(found.get(), found.get() + n, false) == 0;
  };
}

void Measure(benchmark::State& state, const Operation& operation,
             uint64_t batch) {
  Connection connection;
  operation(&connection, 0, 1);
  const auto threads = static_cast<uint64_t>(state.threads());
  uint64_t at = static_cast<uint64_t>(state.thread_index()) * kKeys / threads;
  bool found = true;
  const double before = connection.ServerSeconds();
  for (auto unused : state) {
    static_cast<void>(unused);
    if (at + batch > kKeys) at = 0;
    found &= operation(&connection, at, batch);
    at += batch;
  }
  if (!found) state.SkipWithError("an error, or a key was not found");
  const auto keys = static_cast<double>(state.iterations()) *
                    static_cast<double>(batch * threads);
  state.counters["server_us_per_key"] =
      benchmark::Counter((connection.ServerSeconds() - before) * 1e6 / keys,
                         benchmark::Counter::kAvgThreads);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
}

void Register(const std::string& name, const Operation& operation) {
  for (const uint64_t batch : {uint64_t{1}, uint64_t{100}}) {
    benchmark::RegisterBenchmark(
        (name + "/keys_per_call:" + std::to_string(batch)).c_str(), Measure,
        operation, batch)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond)
        ->Threads(1)
        ->Threads(8)
        ->Threads(64);
  }
}

int Main(int argc, char** argv) {
  std::vector<std::string> words = {"--benchmark_repetitions=3",
                                    "--benchmark_report_aggregates_only=true"};
  words.insert(words.end(), argv + 1, argv + argc);
  if (!InitializeBenchmark("redis_bench", words)) return 2;
  Connection().Run({{"SET", kBitmap, std::string(kBits / 8 + 1, '\xff')}});
  Register("check/k GETBITs, one pipeline", GetBits);
  std::vector<std::shared_ptr<RedisFilter>> filters;
  for (const std::string scheme : {"go-murmur3", "local"}) {
    const auto& filter = filters.emplace_back(NewFilter(scheme));
    Register("check/RedisFilter, " + scheme, OfFilter(filter, false));
    Register("add/RedisFilter, " + scheme, OfFilter(filter, true));
  }
  benchmark::RunSpecifiedBenchmarks();
  for (const auto& filter : filters) Require(filter->Delete());
  Connection().Run({{"DEL", kBitmap}});
  return 0;
}

}  // namespace
}  // namespace deltabloom::bench

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("redis_bench", [argc, argv] {
    return deltabloom::bench::Main(argc, argv);
  });
}
