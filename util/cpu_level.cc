#include "util/cpu_level.h"

#include <cstdlib>
#include <string_view>

namespace deltabloom::internal {

const char* CpuLevelName(CpuLevel level) {
  switch (level) {
    case CpuLevel::kAvx512:
      return "avx512";
    case CpuLevel::kAvx2:
      return "avx2";
    case CpuLevel::kPortable:
      break;
  }
  return "portable";
}

CpuLevel DetectedCpuLevel() {
#if defined(__x86_64__)
  // The compiler's runtime also asks the operating system whether it saves
  // the wide registers.
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt")) {
    return CpuLevel::kPortable;
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512vpopcntdq")) {
    return CpuLevel::kAvx512;
  }
  return CpuLevel::kAvx2;
#else
  return CpuLevel::kPortable;
#endif
}

CpuLevel ActiveCpuLevel() {
  static const CpuLevel active = [] {
    const CpuLevel detected = DetectedCpuLevel();
    const char* wish = std::getenv("DELTABLOOM_CPU");
    if (wish == nullptr) return detected;
    for (CpuLevel level : kAllCpuLevels) {
      if (level <= detected && std::string_view(wish) == CpuLevelName(level)) {
        return level;
      }
    }
    return detected;
  }();
  return active;
}

}  // namespace deltabloom::internal
