// redis_bench: checks, adds and the upload of filters in Redis, compared with a
// pipeline of GETBITs. A Google Benchmark program: its options and formats are
// Google Benchmark's. script/bench --redis starts a server for it;
// DELTABLOOM_REDIS_PORT names its port. Overwrites the keys deltabloom-bench*.
#include <benchmark/benchmark.h>
#include <hiredis.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/filter_bench/initialize.h"
#include "deltabloom/redis_filter.h"

namespace deltabloom::bench {
namespace {

constexpr uint64_t kKeys = 1'000'000;
constexpr uint64_t kUploadKeys = 10'000'000;
// go-murmur3 at 1 %.
constexpr uint64_t kBits = 9'585'059;
constexpr uint64_t kProbes = 7;
constexpr char kBitmap[] = "deltabloom-bench-bits";

int Port() {
  const char* const port = std::getenv("DELTABLOOM_REDIS_PORT");
  return port == nullptr ? 6379 : std::atoi(port);
}

class Connection {
 public:
  Connection() : context_(redisConnect("127.0.0.1", Port())) {
    if (context_ == nullptr || context_->err != 0) {
      throw std::runtime_error(
          "no Redis server at 127.0.0.1:" + std::to_string(Port()) +
          "; use script/bench --redis");
    }
  }
  ~Connection() { redisFree(context_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  template <typename... Words>
  void Append(const char* format, Words... words) {
    redisAppendCommand(context_, format, words...);
  }

  // The answer to the next command.
  std::string Read() {
    void* raw = nullptr;
    if (redisGetReply(context_, &raw) != REDIS_OK) {
      throw std::runtime_error(context_->errstr);
    }
    const std::unique_ptr<redisReply, void (*)(void*)> reply(
        static_cast<redisReply*>(raw), freeReplyObject);
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(reply->str);
    return reply->str == nullptr ? std::string()
                                 : std::string(reply->str, reply->len);
  }

  template <typename... Words>
  std::string Run(const char* format, Words... words) {
    Append(format, words...);
    return Read();
  }

  // The CPU time of the server so far.
  double ServerSeconds() {
    const std::string text = Run("INFO cpu");
    double seconds = 0;
    for (const char* field : {"used_cpu_sys:", "used_cpu_user:"}) {
      const size_t at = text.find(field);
      if (at == text.npos) continue;
      seconds += std::strtod(text.c_str() + at + std::strlen(field), nullptr);
    }
    return seconds;
  }

 private:
  redisContext* const context_;
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
  for (uint64_t i = 0; i < n * kProbes; ++i) {
    connection->Append(
        "GETBIT %s %llu", kBitmap,
        static_cast<unsigned long long>(Mix(first * kProbes + i) % kBits));
  }
  for (uint64_t i = 0; i < n * kProbes; ++i) connection->Read();
  return true;
}

void Require(const RedisStatus& status) {
  if (status.ok()) return;
  throw std::runtime_error(std::string(RedisErrorName(status.error)) + ": " +
                           status.message);
}

std::shared_ptr<RedisFilter> NewFilter(const std::string& scheme,
                                       uint64_t keys) {
  RedisOptions redis;
  redis.port = static_cast<uint16_t>(Port());
  redis.connect_timeout = redis.command_timeout = std::chrono::seconds(20);
  RedisFilterOptions options;
  options.name = "deltabloom-bench-" + scheme;
  options.scheme = scheme;
  options.expected_keys = keys;
  std::unique_ptr<RedisFilter> filter;
  if (RedisFilter::Open(redis, options.name, &filter).ok()) {
    Require(filter->Delete());
  }
  Require(RedisFilter::Create(redis, options, &filter));
  return filter;
}

RedisRebuildResult Fill(RedisFilter* filter, uint64_t keys) {
  std::unique_ptr<RedisRebuild> rebuild;
  Require(filter->StartRebuild({}, &rebuild));
  for (uint64_t i = 0; i < keys; ++i) rebuild->Add(KeyOf(i));
  RedisRebuildResult result;
  Require(rebuild->Finish(&result));
  return result;
}

Operation OfFilter(const std::shared_ptr<RedisFilter>& filter, bool add) {
  return [filter, add](Connection*, uint64_t first, uint64_t n) {
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < n; ++i) keys.push_back(KeyOf(first + i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    if (add) return filter->Add(views.data(), n).ok();
    const auto found = std::make_unique<bool[]>(n);
    return filter->Check(views.data(), n, found.get()).ok() &&
           std::all_of(found.get(), found.get() + n,
                       [](bool one) { return one; });
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
        (name + "/keys_per_call:" + std::to_string(batch)).c_str(),
        [=](benchmark::State& state) { Measure(state, operation, batch); })
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond)
        ->Threads(1)
        ->Threads(8)
        ->Threads(64);
  }
}

void RegisterUpload(const std::string& scheme) {
  benchmark::RegisterBenchmark(
      ("upload/" + scheme + "/keys:" + std::to_string(kUploadKeys)).c_str(),
      [scheme](benchmark::State& state) {
        const auto filter = NewFilter(scheme, kUploadKeys);
        RedisRebuildResult result;
        for (auto unused : state) {
          static_cast<void>(unused);
          result = Fill(filter.get(), kUploadKeys);
        }
        RedisFilterInfo info;
        Require(filter->Info(&info));
        constexpr auto kCount = static_cast<double>(kUploadKeys);
        state.counters["upload_seconds"] =
            static_cast<double>(result.upload_time.count()) / 1000;
        state.counters["uploaded_megabytes"] =
            static_cast<double>(result.uploaded_bytes) / 1e6;
        state.counters["bytes_per_key"] =
            static_cast<double>(info.stored_bytes) / kCount;
        state.counters["false_positive_rate"] = info.false_positive_rate;
        Require(filter->Delete());
      })
      ->UseRealTime()
      ->Unit(benchmark::kSecond)
      ->Iterations(1)
      ->Repetitions(1);
}

int Main(int argc, char** argv) {
  std::vector<std::string> words = {"--benchmark_repetitions=3",
                                    "--benchmark_report_aggregates_only=true"};
  words.insert(words.end(), argv + 1, argv + argc);
  if (!InitializeBenchmark("redis_bench", words)) return 2;
  const std::string bitmap(kBits / 8 + 1, '\xff');
  Connection().Run("SET %s %b", kBitmap, bitmap.data(), bitmap.size());
  Register("check/k GETBITs, one pipeline", GetBits);
  std::vector<std::shared_ptr<RedisFilter>> filters;
  for (const std::string scheme : {"go-murmur3", "local"}) {
    filters.push_back(NewFilter(scheme, kKeys));
    const std::shared_ptr<RedisFilter> filter = filters.back();
    Fill(filter.get(), kKeys);
    Register("check/RedisFilter, " + scheme, OfFilter(filter, false));
    Register("add/RedisFilter, " + scheme, OfFilter(filter, true));
  }
  for (const char* scheme : {"local", "go-murmur3", "guava-helper"}) {
    RegisterUpload(scheme);
  }
  benchmark::RunSpecifiedBenchmarks();
  for (const auto& filter : filters) Require(filter->Delete());
  Connection().Run("DEL %s", kBitmap);
  return 0;
}

}  // namespace
}  // namespace deltabloom::bench

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram("redis_bench", [argc, argv] {
    return deltabloom::bench::Main(argc, argv);
  });
}
