// The level found is the one the operating system reports, and the
// environment variable DELTABLOOM_CPU lowers it. Runs once for each value of
// the variable (CMakeLists.txt).
#include "util/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace deltabloom {
namespace {

using internal::Cpu;

TEST(Cpu, IsTheOneTheSystemReports) {
#if !defined(__x86_64__)
  // All aarch64 has NEON; other machines have no kernels of their own. Under an
  // emulator the system's report may be that of another machine.
#if defined(__AARCH64EL__)
  EXPECT_EQ(internal::DetectedCpu(), Cpu::kNeon);
#else
  EXPECT_EQ(internal::DetectedCpu(), Cpu::kPortable);
#endif
  return;
#endif
  // The flags of the first CPU, each between two blanks.
  std::string flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; flags.empty() && std::getline(file, line);) {
    if (line.rfind("flags", 0) == 0) flags = line + " ";
  }
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto has = [&](const char* list) {
    std::istringstream names(list);
    for (std::string name; names >> name;) {
      if (flags.find(" " + name + " ") == std::string::npos) return false;
    }
    return true;
  };
  const bool avx2 = has("avx2 bmi1 bmi2 popcnt");
  const bool avx512 =
      avx2 && has("avx512f avx512bw avx512dq avx512vl avx512_vpopcntdq");
  EXPECT_EQ(internal::DetectedCpu(), avx512 ? Cpu::kAvx512
                                     : avx2 ? Cpu::kAvx2
                                            : Cpu::kPortable);
}

TEST(Cpu, IsLoweredByTheEnvironment) {
  const Cpu detected = internal::DetectedCpu();
  const char* wish = std::getenv("DELTABLOOM_CPU");
  Cpu expected = detected;
  for (const Cpu cpu : internal::kAllCpus) {
    if (wish != nullptr && std::string(wish) == internal::CpuName(cpu)) {
      expected = std::min(cpu, detected);
    }
  }
  EXPECT_EQ(internal::ActiveCpu(), expected);
}

}  // namespace
}  // namespace deltabloom
