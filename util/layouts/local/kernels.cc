#include "util/layouts/local/kernels.h"

namespace deltabloom::internal::local {
namespace {

constexpr KernelsFor<Kernels> kTable[] = {
#if defined(__x86_64__)
    {Cpu(Cpu::kAvx2), Avx2},
#endif
    {Cpu(), Portable},
};

}  // namespace

const Kernels& KernelsOf(Cpu cpu) { return FirstThatRuns(kTable, cpu); }

}  // namespace deltabloom::internal::local
