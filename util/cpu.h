// Which instructions kernels may use. Kernels of all kinds write and read the
// same bytes; instructions only change the speed.
#pragma once

#include <cstdint>
#include <string>

namespace deltabloom::internal {

// Kernels for NEON exist for little-endian aarch64, all of which has it.
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DELTABLOOM_HAS_NEON 1
#endif

// Levels of instructions. Of one architecture, each has those of the levels
// before it. Users select one with DELTABLOOM_CPU=portable|neon|avx2|avx512.
enum class Cpu : uint8_t {
  kPortable,  // code without intrinsics, as the compiler makes it
  kNeon,      // aarch64
  kAvx2,      // x86-64: AVX2, BMI1, BMI2, POPCNT
  kAvx512,    // x86-64: AVX-512 F, BW, DQ, VL and VPOPCNTDQ
};

// All levels of this architecture, in ascending order.
#if defined(__x86_64__)
inline constexpr Cpu kAllCpus[] = {Cpu::kPortable, Cpu::kAvx2, Cpu::kAvx512};
#elif defined(DELTABLOOM_HAS_NEON)
inline constexpr Cpu kAllCpus[] = {Cpu::kPortable, Cpu::kNeon};
#else
inline constexpr Cpu kAllCpus[] = {Cpu::kPortable};
#endif

// "portable, avx2 or avx512": the names of kAllCpus.
std::string CpuNames();

const char* CpuName(Cpu cpu);

// The highest level that this CPU and operating system can run.
Cpu DetectedCpu();

// The level in use: the detected one, or the lower one that the environment
// variable DELTABLOOM_CPU names, which is read once. Unknown names and those of
// other architectures are ignored.
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
