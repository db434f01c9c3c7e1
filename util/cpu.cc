#include "util/cpu.h"

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

Cpu DetectedCpu() {
#if defined(__x86_64__)
  // The compiler's runtime also checks that the operating system saves the wide
  // registers.
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt")) {
    return Cpu();
  }
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl")) {
    return Cpu(Cpu::kAvx2);
  }
  if (!__builtin_cpu_supports("avx512vpopcntdq")) {
    return Cpu(Cpu::kAvx2 | Cpu::kAvx512);
  }
  return Cpu(Cpu::kAvx2 | Cpu::kAvx512 | Cpu::kAvx512Vpopcntdq);
#else
  return Cpu();
#endif
}

Cpu ActiveCpu() {
  static const Cpu active = [] {
    const Cpu detected = DetectedCpu();
    const char* name = std::getenv("DELTABLOOM_CPU");
    if (name == nullptr) return detected;
    for (CpuLevel level : kAllCpuLevels) {
      if (std::string_view(name) == CpuLevelName(level)) {
        return detected.And(level);
      }
    }
    return detected;
  }();
  return active;
}

CpuLevel LevelOf(Cpu cpu) {
  CpuLevel highest = CpuLevel::kPortable;
  for (CpuLevel level : kAllCpuLevels) {
    if (cpu.Has(level)) highest = level;
  }
  return highest;
}

}  // namespace deltabloom::internal
