// Filters that many threads share: operations per second from one thread to
// many, as the table in docs/shared_filters.md.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/concurrent/filters.h"
#include "util/coding.h"

namespace deltabloom::concurrent_bench {
namespace {

struct Settings {
  uint64_t keys = 1000000;
  double rate = 0.01;
  int repetitions = 7;
  std::vector<unsigned> threads = {1, 2, 4, 8};
};

// 16 bytes from a number; numbers from kAbsent on are never added.
constexpr uint64_t kAbsent = uint64_t{1} << 40;

class Key {
 public:
  explicit Key(uint64_t i) {
    internal::StoreFixed64(bytes_, i * 0x9E3779B97F4A7C15u);
    internal::StoreFixed64(bytes_ + 8, i);
  }
  operator std::string_view() const { return {bytes_, sizeof(bytes_)}; }

 private:
  char bytes_[16];
};

// Seconds from the start of the first thread's work to the end of the last's;
// each has an equal share of [0, keys).
double Time(unsigned threads, uint64_t keys,
            const std::function<void(uint64_t, uint64_t)>& work) {
  std::atomic<unsigned> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      ++ready;
      while (!go) std::this_thread::yield();
      work(keys * i / threads, keys * (i + 1) / threads);
    });
  }
  while (ready < threads) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  go = true;
  for (std::thread& thread : running) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

enum Work { kAdd, kPresent, kAbsentKeys, kWorks };
const char* const kWorkNames[] = {"add", "present", "absent"};

struct Samples {
  std::vector<double> mops[kWorks];
  double false_positives = 0;
};

void MeasureOnce(const Contender& contender, const Settings& settings,
                 unsigned threads, Samples* samples) {
  const auto filter = contender.make(settings.keys, settings.rate);
  const auto add = [&](double seconds, Work work) {
    samples->mops[work].push_back(static_cast<double>(settings.keys) / seconds /
                                  1e6);
  };
  add(Time(threads, settings.keys,
           [&](uint64_t begin, uint64_t end) {
             for (uint64_t i = begin; i < end; ++i) filter->Add(Key(i));
           }),
      kAdd);
  std::atomic<uint64_t> found{0};
  const auto ask = [&](uint64_t from) {
    found = 0;
    return Time(threads, settings.keys, [&](uint64_t begin, uint64_t end) {
      uint64_t mine = 0;
      for (uint64_t i = begin; i < end; ++i) {
        mine += filter->MayMatch(Key(from + i)) ? 1 : 0;
      }
      found += mine;
    });
  };
  add(ask(0), kPresent);
  if (found != settings.keys) {
    throw std::runtime_error(contender.name + " lost " +
                             std::to_string(settings.keys - found) + " keys");
  }
  add(ask(kAbsent), kAbsentKeys);
  samples->false_positives =
      static_cast<double>(found) / static_cast<double>(settings.keys);
}

void Report(const Settings& settings) {
  std::printf(
      "%llu keys of 16 bytes, rate %g, millions of operations per second,\n"
      "median of %d; in brackets the ratio to %s; %u CPUs here\n\n"
      "| threads | filter | %s | %s | %s | false positives |\n"
      "|---|---|---|---|---|---|\n",
      static_cast<unsigned long long>(settings.keys), settings.rate,
      settings.repetitions, Contenders()[0].name.c_str(),
      std::thread::hardware_concurrency(), kWorkNames[kAdd],
      kWorkNames[kPresent], kWorkNames[kAbsentKeys]);
  for (const unsigned threads : settings.threads) {
    // In turn, so that what disturbs the machine disturbs all of them.
    std::vector<Samples> samples(Contenders().size());
    for (int repetition = 0; repetition < settings.repetitions; ++repetition) {
      for (size_t i = 0; i < samples.size(); ++i) {
        MeasureOnce(Contenders()[i], settings, threads, &samples[i]);
      }
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      std::printf("| %u | %s |", threads, Contenders()[i].name.c_str());
      for (int work = 0; work < kWorks; ++work) {
        const double mops = bench::Median(samples[i].mops[work]);
        std::printf(" %.1f (%.2f) |", mops,
                    mops / bench::Median(samples[0].mops[work]));
      }
      std::printf(" %.2f %% |\n", 100 * samples[i].false_positives);
    }
    std::fflush(stdout);
  }
}

// False if help was asked for, which has been printed.
bool ParseSettings(int argc, char** argv, Settings* settings) {
  CLI::App app(
      "Measures filters that many threads fill and ask at the same time, "
      "beside a mutex and beside what RocksDB's memtable does. The default "
      "takes about half a minute.");
  app.name("concurrent_bench");
  app.add_option("--keys", settings->keys, "Keys added and asked for")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1000000000}))
      ->capture_default_str();
  app.add_option("--rate", settings->rate, "False-positive rate to size for")
      ->check(CLI::Range(1e-9, 0.5))
      ->capture_default_str();
  app.add_option("--repetitions", settings->repetitions,
                 "Runs of which the median is printed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--threads", settings->threads, "Numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  return bench::ParseCommandLine({argv + 1, argv + argc}, &app);
}

}  // namespace
}  // namespace deltabloom::concurrent_bench

int main(int argc, char** argv) {
  using namespace deltabloom;
  return bench::RunProgram("concurrent_bench", [&] {
    concurrent_bench::Settings settings;
    if (concurrent_bench::ParseSettings(argc, argv, &settings)) {
      concurrent_bench::Report(settings);
    }
    return 0;
  });
}
