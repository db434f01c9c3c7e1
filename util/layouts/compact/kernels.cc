#include "util/layouts/compact/kernels.h"

namespace deltabloom::internal::compact {
namespace {

constexpr KernelsFor<Kernels> kTable[] = {
#if defined(__x86_64__)
    {Cpu(Cpu::kAvx2 | Cpu::kAvx512 | Cpu::kAvx512Vpopcntdq), Avx512},
    {Cpu(Cpu::kAvx2), Avx2},
#endif
    {Cpu(), Portable},
};

}  // namespace

const Kernels& KernelsOf(Cpu cpu) { return FirstThatRuns(kTable, cpu); }

}  // namespace deltabloom::internal::compact
