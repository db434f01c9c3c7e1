#include "util/cpu.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

namespace deltabloom::internal {

const char* CpuName(Cpu cpu) {
  static constexpr const char* kNames[] = {"portable", "neon", "avx2",
                                           "avx512"};
  return kNames[static_cast<uint8_t>(cpu)];
}

Cpu DetectedCpu() {
#if defined(__x86_64__)
  // The compiler's runtime also checks that the operating system saves the wide
  // registers.
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt")) {
    return Cpu::kPortable;
  }
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512vpopcntdq")) {
    return Cpu::kAvx2;
  }
  return Cpu::kAvx512;
#elif defined(DELTABLOOM_HAS_NEON)
  return Cpu::kNeon;
#else
  return Cpu::kPortable;
#endif
}

std::string CpuNames() {
  std::string names;
  for (const Cpu& cpu : kAllCpus) {
    if (&cpu != std::begin(kAllCpus)) {
      names += &cpu + 1 == std::end(kAllCpus) ? " or " : ", ";
    }
    names += CpuName(cpu);
  }
  return names;
}

Cpu ActiveCpu() {
  static const Cpu active = [] {
    const Cpu detected = DetectedCpu();
    const char* name = std::getenv("DELTABLOOM_CPU");
    for (const Cpu cpu : kAllCpus) {
      if (name != nullptr && std::string_view(name) == CpuName(cpu)) {
        return std::min(cpu, detected);
      }
    }
    return detected;
  }();
  return active;
}

}  // namespace deltabloom::internal
