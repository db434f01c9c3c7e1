// The level found is the one the operating system reports, and the
// environment variable DELTABLOOM_CPU lowers it. Runs once for each value of
// the variable (CMakeLists.txt).
#include "util/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace deltabloom {
namespace {

using internal::Cpu;
using internal::CpuLevel;

// The flags of the first CPU in /proc/cpuinfo, each between two blanks.
std::string SystemFlags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) == 0) return line + " ";
  }
  return {};
}

TEST(Cpu, IsTheOneTheSystemReports) {
#if !defined(__x86_64__)
  // Under an emulator the system's report may be that of another machine.
  EXPECT_TRUE(Cpu().Has(internal::DetectedCpu()));
  return;
#endif
  const std::string flags = SystemFlags();
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto has = [&](const char* list) {
    std::istringstream names(list);
    for (std::string name; names >> name;) {
      if (flags.find(" " + name + " ") == std::string::npos) return false;
    }
    return true;
  };
  const bool avx2 = has("avx2 bmi1 bmi2 popcnt");
  const bool avx512 = avx2 && has("avx512f avx512bw avx512dq avx512vl");
  const Cpu detected = internal::DetectedCpu();
  EXPECT_EQ(detected.Has(Cpu(Cpu::kAvx2)), avx2);
  EXPECT_EQ(detected.Has(Cpu(Cpu::kAvx512)), avx512);
  EXPECT_EQ(detected.Has(Cpu(Cpu::kAvx512Vpopcntdq)),
            avx512 && has("avx512_vpopcntdq"));
}

TEST(Cpu, IsLoweredByTheEnvironment) {
  const Cpu detected = internal::DetectedCpu();
  const char* wish = std::getenv("DELTABLOOM_CPU");
  Cpu expected = detected;
  for (CpuLevel level : internal::kAllCpuLevels) {
    if (wish != nullptr && std::string(wish) == internal::CpuLevelName(level)) {
      expected = detected.And(level);
    }
  }
  EXPECT_TRUE(internal::ActiveCpu().Has(expected));
  EXPECT_TRUE(expected.Has(internal::ActiveCpu()));
}

TEST(Cpu, LevelIsTheHighestOfWhichNothingIsMissing) {
  EXPECT_EQ(LevelOf(Cpu()), CpuLevel::kPortable);
  EXPECT_EQ(LevelOf(Cpu(Cpu::kAvx512)), CpuLevel::kPortable);
  EXPECT_EQ(LevelOf(Cpu(Cpu::kAvx2 | Cpu::kAvx512)), CpuLevel::kAvx2);
  for (CpuLevel level : internal::kAllCpuLevels) {
    EXPECT_EQ(LevelOf(level), level);
  }
}

TEST(Cpu, AndHasWhatBothHave) {
  const Cpu both = Cpu(Cpu::kAvx2 | Cpu::kAvx512)
                       .And(Cpu(Cpu::kAvx512 | Cpu::kAvx512Vpopcntdq));
  EXPECT_TRUE(both.Has(Cpu(Cpu::kAvx512)));
  EXPECT_FALSE(both.Has(Cpu(Cpu::kAvx2)));
  EXPECT_FALSE(both.Has(Cpu(Cpu::kAvx512Vpopcntdq)));
}

}  // namespace
}  // namespace deltabloom
