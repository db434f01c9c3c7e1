// How fast filters in Redis are asked, filled and built. script/redis_bench
// starts a server for it.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/redis_bench/load.h"
#include "db_bench_ext/redis_bench/variants.h"
#include "deltabloom/filter.h"
#include "deltabloom/go_murmur3_filter.h"

namespace deltabloom::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  RedisOptions redis;
  uint64_t keys = 1000000;
  uint64_t upload_keys = 10000000;
  double seconds = 0.5;
  unsigned repeat = 3;
  size_t batch = 100;
  std::vector<unsigned> connections = {1, 8, 64};
};

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// False if help was asked for, which has been printed.
bool Parse(int argc, char** argv, Settings* settings) {
  CLI::App app(
      "Measures filters in Redis: checks and adds per second and per call, "
      "the\n"
      "upload of a filter, bytes per key. Overwrites keys that begin with\n"
      "deltabloom-bench.");
  app.add_option("--host", settings->redis.host, "server")
      ->capture_default_str();
  app.add_option("--port", settings->redis.port, "its port")
      ->capture_default_str();
  app.add_option("--socket", settings->redis.unix_socket,
                 "a unix socket instead");
  app.add_option("--keys", settings->keys, "keys in the filters asked")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1000}, uint64_t{100000000}));
  app.add_option("--upload-keys", settings->upload_keys,
                 "keys of the upload; 0: none")
      ->capture_default_str();
  app.add_option("--seconds", settings->seconds, "for one figure, each time")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 60.0));
  app.add_option("--repeat", settings->repeat,
                 "times, in turns; the median counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 99));
  app.add_option("--batch", settings->batch, "keys of a batch")
      ->capture_default_str()
      ->check(CLI::Range(2, 10000));
  app.add_option("--connections", settings->connections, "one table each")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::Range(1, 1000));
  app.name("script/redis_bench");
  if (!ParseCommandLine({argv + 1, argv + argc}, &app)) return false;
  settings->redis.connect_timeout = settings->redis.command_timeout =
      std::chrono::seconds(20);
  return true;
}

// Ends the program unless all went well.
void Demand(const RedisStatus& status) {
  if (status.ok()) return;
  throw std::runtime_error(std::string(RedisErrorName(status.error)) + ": " +
                           status.message);
}

std::vector<std::string> MakeKeys(uint64_t n) {
  std::vector<std::string> keys(n);
  char text[32];
  for (uint64_t i = 0; i < n; ++i) {
    // In no order, as ids are asked for.
    std::snprintf(text, sizeof(text), "user:%010" PRIu64,
                  i * 0x9e3779b97f4a7c15 % 10000000000);
    keys[i] = text;
  }
  return keys;
}

std::unique_ptr<RedisFilter> MakeFilter(const Settings& settings,
                                        const std::string& name,
                                        const std::string& scheme,
                                        uint64_t keys) {
  std::unique_ptr<RedisFilter> filter;
  if (RedisFilter::Open(settings.redis, name, &filter).ok()) {
    Demand(filter->Delete());
  }
  RedisFilterOptions options;
  options.name = name;
  options.scheme = scheme;
  options.expected_keys = keys;
  Demand(RedisFilter::Create(settings.redis, options, &filter));
  return filter;
}

internal::Scheme SchemeOf(RedisFilter* filter) {
  RedisFilterInfo info;
  Demand(filter->Info(&info));
  internal::Scheme scheme;
  uint32_t fixed_probes = 0;
  internal::FindScheme(info.scheme, &scheme.kind, &fixed_probes);
  scheme.bits = info.bits;
  scheme.probes = info.probes;
  return scheme;
}

// Through a rebuild: the fastest way to fill a filter.
void Fill(RedisFilter* filter, const std::vector<std::string_view>& keys,
          const char* report) {
  const Clock::time_point start = Clock::now();
  std::unique_ptr<RedisRebuild> rebuild;
  Demand(filter->StartRebuild({}, &rebuild));
  for (const std::string_view key : keys) rebuild->Add(key);
  const double hashed = Since(start);
  RedisRebuildResult result;
  Demand(rebuild->Finish(&result));
  if (report == nullptr) return;
  RedisFilterInfo info;
  Demand(filter->Info(&info));
  const auto n = static_cast<double>(keys.size());
  std::printf("| %s | %.0f | %.2f s | %.2f s | %.1f MB | %.3f | %.2f %% |\n",
              report, n, hashed,
              static_cast<double>(result.upload_time.count()) / 1000,
              static_cast<double>(result.uploaded_bytes) / 1e6,
              static_cast<double>(info.stored_bytes) / n,
              100 * info.false_positive_rate);
}

// The CPU time of the server: what its "INFO cpu" says.
double ServerSeconds(internal::Client* client) {
  internal::Reply reply;
  internal::Request request("INFO");
  request.Word("cpu");
  Demand(client->RunOne(request, internal::Retry::kSafe, &reply));
  double seconds = 0;
  const std::string text(internal::TextOf(*reply));
  for (const char* field : {"used_cpu_sys:", "used_cpu_user:"}) {
    const size_t at = text.find(field);
    if (at == text.npos) continue;
    seconds += std::strtod(text.c_str() + at + std::strlen(field), nullptr);
  }
  return seconds;
}

// Interleaves the repetitions of all variants, so that what disturbs the
// machine disturbs them alike. Returns errors and keys not found.
uint64_t Table(const Settings& settings, const Subject& subject,
               const char* title, const std::vector<Variant>& variants,
               unsigned connections, size_t batch,
               const std::vector<std::string_view>& keys) {
  Load load;
  load.connections = connections;
  load.batch = batch;
  load.time =
      std::chrono::milliseconds(static_cast<int64_t>(settings.seconds * 1000));
  std::vector<std::vector<LoadResult>> results(variants.size());
  for (unsigned i = 0; i < settings.repeat; ++i) {
    for (size_t v = 0; v < variants.size(); ++v) {
      if (batch > 1 && !variants[v].batches) continue;
      results[v].push_back(Run(variants[v].operation, load, keys, [&] {
        return ServerSeconds(subject.client.get());
      }));
    }
  }
  std::printf("\n%s, %u connection%s, %zu key%s per call:\n\n", title,
              connections, connections == 1 ? "" : "s", batch,
              batch == 1 ? "" : "s");
  std::printf(
      "| | keys per second | ratio | us per call, p50 | p99 | server's CPU, us "
      "per key | ratio | client's CPU |\n|---|---|---|---|---|---|---|---|\n");
  uint64_t wrong = 0;
  const LoadResult base = Median(results[1]);  // of the pipeline
  for (size_t v = 0; v < variants.size(); ++v) {
    if (results[v].empty()) continue;
    const LoadResult median = Median(results[v]);
    wrong += median.errors + median.not_found;
    std::printf("| %s | %.0f | %.2f | %.1f | %.1f | %.2f | %.2f | %.2f |\n",
                variants[v].name.c_str(), median.keys_per_second,
                median.keys_per_second / base.keys_per_second, median.p50_us,
                median.p99_us, median.server_us,
                base.server_us / median.server_us, median.client_us);
  }
  std::fflush(stdout);
  return wrong;
}

template <typename MayMatch>
void Floor(const char* name, const std::vector<std::string_view>& keys,
           MayMatch may_match) {
  uint64_t found = 0;
  const Clock::time_point start = Clock::now();
  for (const std::string_view key : keys) found += may_match(key) ? 1 : 0;
  const double seconds = Since(start);
  std::printf("| %s | %.0f | %.3f |%s\n", name,
              static_cast<double>(keys.size()) / seconds,
              seconds * 1e6 / static_cast<double>(keys.size()),
              found == keys.size() ? "" : " keys lost!");
}

void Floors(const std::vector<std::string_view>& keys,
            const internal::Scheme& go) {
  FilterOptions options;
  options.layout = Layout::kLocal;
  FilterBuilder builder(options);
  GoMurmur3FilterOptions go_options;
  go_options.bits = go.bits;
  go_options.probes = go.probes;
  GoMurmur3Filter go_filter(go_options);
  for (const std::string_view key : keys) {
    builder.AddKey(key);
    go_filter.Add(key);
  }
  std::string bytes;
  builder.Finish(&bytes);
  const Filter local(bytes);
  std::printf("\nThe floor, in memory, one thread:\n\n");
  std::printf("| | keys per second | us per key |\n|---|---|---|\n");
  Floor("go-murmur3", keys,
        [&](std::string_view key) { return go_filter.MayMatch(key); });
  Floor("local", keys,
        [&](std::string_view key) { return local.MayMatch(key); });
}

int Main(int argc, char** argv) {
  Settings settings;
  if (!Parse(argc, argv, &settings)) return 0;
  const auto keys = MakeKeys(settings.keys);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  Subject subject;
  subject.client = std::make_shared<internal::Client>(settings.redis);
  subject.local_name = "deltabloom-bench-local";
  subject.go_name = "deltabloom-bench-go";
  subject.local =
      MakeFilter(settings, subject.local_name, "local", settings.keys);
  subject.go =
      MakeFilter(settings, subject.go_name, "go-murmur3", settings.keys);
  subject.local_scheme = SchemeOf(subject.local.get());
  subject.go_scheme = SchemeOf(subject.go.get());
  Fill(subject.local.get(), views, nullptr);
  Fill(subject.go.get(), views, nullptr);
  std::printf(
      "%zu keys of 15 bytes, all of them present; go-murmur3 with k = "
      "%u, local with k = %u.\nRatios are to k commands in one pipeline; above "
      "1 is better.\n",
      keys.size(), subject.go_scheme.probes, subject.local_scheme.probes);
  uint64_t wrong = 0;
  for (const size_t batch : {size_t{1}, settings.batch}) {
    for (const unsigned connections : settings.connections) {
      wrong += Table(settings, subject, "Checks", Checks(subject), connections,
                     batch, views);
    }
  }
  for (const size_t batch : {size_t{1}, settings.batch}) {
    for (const unsigned connections : settings.connections) {
      wrong += Table(settings, subject, "Adds", Adds(subject), connections,
                     batch, views);
    }
  }
  Floors(views, subject.go_scheme);
  if (settings.upload_keys > 0) {
    const auto many = MakeKeys(settings.upload_keys);
    const std::vector<std::string_view> many_views(many.begin(), many.end());
    std::printf("\nBuilding a filter and putting it in place:\n\n");
    std::printf(
        "| scheme | keys | hashing | upload, verify, rename | uploaded "
        "| bytes per key | rate |\n|---|---|---|---|---|---|---|\n");
    for (const char* scheme : {"local", "go-murmur3", "guava-helper"}) {
      auto filter = MakeFilter(settings, "deltabloom-bench-upload", scheme,
                               settings.upload_keys);
      Fill(filter.get(), many_views, scheme);
      Demand(filter->Delete());
    }
  }
  Demand(subject.local->Delete());
  Demand(subject.go->Delete());
  std::printf("\nErrors and keys that were not found: %" PRIu64 "\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace deltabloom::bench

int main(int argc, char** argv) {
  return deltabloom::bench::RunProgram(
      "redis_bench", [&] { return deltabloom::bench::Main(argc, argv); });
}
