// Which instructions kernels may use. Kernels of all kinds write and read the
// same bytes; instructions only change the speed.
#ifndef DELTABLOOM_UTIL_CPU_H_
#define DELTABLOOM_UTIL_CPU_H_

#include <cstdint>

namespace deltabloom::internal {

// The levels that users can select: DELTABLOOM_CPU=portable|avx2|avx512.
enum class CpuLevel : uint8_t { kPortable, kAvx2, kAvx512 };

inline constexpr CpuLevel kAllCpuLevels[] = {
    CpuLevel::kPortable, CpuLevel::kAvx2, CpuLevel::kAvx512};

const char* CpuLevelName(CpuLevel level);

// A set of instructions: those of a CPU, those that a kernel needs, or those up
// to a level. The empty set is what the compiler assumes for the architecture.
class Cpu {
 public:
  enum Instructions : uint32_t {
    kAvx2 = 1,             // AVX2, BMI1, BMI2, POPCNT
    kAvx512 = 2,           // AVX-512 F, BW, DQ, VL
    kAvx512Vpopcntdq = 4,  // AVX-512 VPOPCNTDQ
  };

  constexpr Cpu() = default;
  constexpr explicit Cpu(uint32_t instructions) : instructions_(instructions) {}

  // All instructions up to a level. Not explicit: a level converts to a set.
  constexpr Cpu(CpuLevel level)
      : instructions_(level == CpuLevel::kPortable ? 0u
                      : level == CpuLevel::kAvx2
                          ? uint32_t{kAvx2}
                          : uint32_t{kAvx2 | kAvx512 | kAvx512Vpopcntdq}) {}

  constexpr bool Has(Cpu needed) const {
    return (instructions_ & needed.instructions_) == needed.instructions_;
  }
  constexpr Cpu And(Cpu other) const {
    return Cpu(instructions_ & other.instructions_);
  }

 private:
  uint32_t instructions_ = 0;
};

// What this CPU and operating system can run.
Cpu DetectedCpu();

// The set in use: the detected one, or its part up to the level named by the
// environment variable DELTABLOOM_CPU, which is read once. Unknown names are
// ignored.
Cpu ActiveCpu();

// The highest level that `cpu` has all instructions of.
CpuLevel LevelOf(Cpu cpu);

}  // namespace deltabloom::internal

// Function attributes for kernels. Per function, not by compiler flags for a
// file: those would also compile the inline functions of headers for that CPU,
// and the linker may keep that copy for all.
#define DELTABLOOM_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define DELTABLOOM_TARGET_AVX512_VPOPCNTDQ                                  \
  __attribute__((                                                           \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi," \
             "bmi2,popcnt")))

#endif  // DELTABLOOM_UTIL_CPU_H_
