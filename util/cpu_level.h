// Which instructions the kernels may use. Every level writes and reads the
// same bytes; a level only changes the speed.
#ifndef DELTABLOOM_UTIL_CPU_LEVEL_H_
#define DELTABLOOM_UTIL_CPU_LEVEL_H_

#include <cstdint>

namespace deltabloom::internal {

enum class CpuLevel : uint8_t {
  kPortable,  // what the compiler assumes for the architecture
  kAvx2,      // AVX2, BMI1, BMI2, POPCNT
  kAvx512,    // AVX-512 F, BW, DQ, VL, CD and VPOPCNTDQ
};

inline constexpr CpuLevel kAllCpuLevels[] = {
    CpuLevel::kPortable, CpuLevel::kAvx2, CpuLevel::kAvx512};

const char* CpuLevelName(CpuLevel level);

// The highest level this CPU and operating system can run.
CpuLevel DetectedCpuLevel();

// The level in use: the detected one, or a lower one asked for by the
// environment variable DELTABLOOM_CPU (portable, avx2, avx512), read once. A
// level the CPU lacks, or a name not known, leaves the detected one.
CpuLevel ActiveCpuLevel();

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_UTIL_CPU_LEVEL_H_
