// Which instructions kernels may use. Kernels of all kinds write and read the
// same bytes; instructions only change the speed.
#pragma once

#include <cstdint>

namespace deltabloom::internal {

// Levels of instructions, each with those of the levels before it. Users select
// one with DELTABLOOM_CPU=portable|avx2|avx512.
enum class Cpu : uint8_t {
  kPortable,  // what the compiler assumes for the architecture
  kAvx2,      // AVX2, BMI1, BMI2, POPCNT
  kAvx512,    // AVX-512 F, BW, DQ, VL and VPOPCNTDQ
};

inline constexpr Cpu kAllCpus[] = {Cpu::kPortable, Cpu::kAvx2, Cpu::kAvx512};

const char* CpuName(Cpu cpu);

// The highest level that this CPU and operating system can run.
Cpu DetectedCpu();

// The level in use: the detected one, or the lower one that the environment
// variable DELTABLOOM_CPU names, which is read once. Unknown names are ignored.
Cpu ActiveCpu();

}  // namespace deltabloom::internal

// Function attributes for kernels. Per function, not by compiler flags for a
// file: those would also compile the inline functions of headers for that CPU,
// and the linker may keep that copy for all.
#define DELTABLOOM_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define DELTABLOOM_TARGET_AVX512_VPOPCNTDQ                                  \
  __attribute__((                                                           \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi," \
             "bmi2,popcnt")))
