// The level found is the one the operating system reports, and the
// environment variable DELTABLOOM_CPU lowers it. Runs once for each value of
// the variable (CMakeLists.txt).
#include "util/cpu_level.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "deltabloom/filter.h"
#include "tests/random.h"
#include "tests/reference/reference.h"

namespace deltabloom {
namespace {

using internal::CpuLevel;

// The flags of the first CPU in /proc/cpuinfo, each between two blanks.
std::string SystemFlags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) == 0) return line + " ";
  }
  return {};
}

TEST(CpuLevel, IsTheOneTheSystemReports) {
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
  const bool avx512 = avx2 && has("avx512f avx512bw avx512dq avx512vl avx512cd "
                                  "avx512_vpopcntdq");
  EXPECT_EQ(internal::DetectedCpuLevel(), avx512 ? CpuLevel::kAvx512
                                          : avx2 ? CpuLevel::kAvx2
                                                 : CpuLevel::kPortable);
}

TEST(CpuLevel, IsLoweredByTheEnvironment) {
  const CpuLevel detected = internal::DetectedCpuLevel();
  const char* wish = std::getenv("DELTABLOOM_CPU");
  CpuLevel expected = detected;
  for (CpuLevel level : internal::kAllCpuLevels) {
    if (wish != nullptr && std::string(wish) == internal::CpuLevelName(level)) {
      expected = std::min(level, detected);
    }
  }
  EXPECT_EQ(internal::ActiveCpuLevel(), expected);
}

// The public classes use the active level.
TEST(CpuLevel, PublicClassesEqualTheReference) {
  test::Random random(20260101);
  const auto keys = random.MixedKeys(3000);
  FilterBuilder builder;
  for (const std::string& key : keys) builder.AddKey(key);
  std::string bytes;
  builder.Finish(&bytes);
  const reference::Reference& classic = reference::kClassicMurmurHash2;
  EXPECT_TRUE(bytes ==
              classic.build(keys, 10000, classic.payload_size(3000, 10000)));
  const Filter filter(bytes);
  for (const std::string& key : keys) ASSERT_TRUE(filter.MayMatch(key));
  for (int i = 0; i < 10000; ++i) {
    const std::string key = random.Key(16);
    ASSERT_EQ(filter.MayMatch(key), classic.may_match(bytes, key));
  }
}

}  // namespace
}  // namespace deltabloom
