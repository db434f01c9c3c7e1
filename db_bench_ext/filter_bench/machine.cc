#include "db_bench_ext/filter_bench/machine.h"

#include <benchmark/benchmark.h>
#include <leveldb/db.h>

#include <ctime>
#include <fstream>
#include <limits>

#include "rocksdb/version.h"
#include "util/cpu.h"

namespace deltabloom::bench {
namespace {

// What follows "name :" in a file of such lines; empty if it is not there.
std::string Field(const char* file, const std::string& name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    const size_t colon = line.find(':');
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos && start != std::string::npos) {
      return line.substr(start);
    }
  }
  return {};
}

std::string Caches() {
  std::string text;
  for (const auto& cache : benchmark::CPUInfo::Get().caches) {
    if (cache.type == "Instruction") continue;
    text += (text.empty() ? "L" : ", L") + std::to_string(cache.level) + " " +
            std::to_string(cache.size >> 10) + " KiB";
  }
  return text;
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm calendar{};
  gmtime_r(&now, &calendar);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &calendar);
  return text;
}

std::string OperatingSystem() {
  std::ifstream stream("/etc/os-release");
  for (std::string line; std::getline(stream, line);) {
    if (line.compare(0, 13, "PRETTY_NAME=\"") == 0) {
      return line.substr(13, line.size() - 14);
    }
  }
  return "unknown";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> DescribeMachine() {
  const std::string cpu = Field("/proc/cpuinfo", "model name");
#if defined(__clang__)
  const std::string compiler = __VERSION__;
#else
  const std::string compiler = std::string("gcc ") + __VERSION__;
#endif
  return {
    {"date", Today()}, {"cpu", cpu.empty() ? "unknown" : cpu},
        {"cpu_family", Field("/proc/cpuinfo", "cpu family")},
        {"cpus", std::to_string(benchmark::CPUInfo::Get().num_cpus)},
        {"caches", Caches()},
        {"cpu_level",
         internal::CpuLevelName(internal::LevelOf(internal::ActiveCpu()))},
        {"cpu_level_detected",
         internal::CpuLevelName(internal::LevelOf(internal::DetectedCpu()))},
        {"system", OperatingSystem()}, {"compiler", compiler},
#if defined(NDEBUG)
        {"build", "release"},
#else
        {"build", "debug"},
#endif
        {"deltabloom", DELTABLOOM_VERSION},
        {"rocksdb", rocksdb::GetRocksVersionAsString()},
        {"leveldb", std::to_string(leveldb::kMajorVersion) + "." +
                        std::to_string(leveldb::kMinorVersion)},
  };
}

uint64_t AvailableMemory() {
  const std::string text = Field("/proc/meminfo", "MemAvailable");
  if (text.empty()) return std::numeric_limits<uint64_t>::max();
  return std::stoull(text) * 1024;
}

}  // namespace deltabloom::bench
