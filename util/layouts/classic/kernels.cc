#include "util/layouts/classic/kernels.h"

namespace deltabloom::internal::classic {
namespace {

constexpr KernelsFor<Kernels> kMurmurHash2[] = {
#if defined(__x86_64__)
    {Cpu(Cpu::kAvx2), Avx2MurmurHash2},
#endif
    {Cpu(), PortableMurmurHash2},
};

constexpr KernelsFor<Kernels> kLevelDBHash[] = {
#if defined(__x86_64__)
    {Cpu(Cpu::kAvx2), Avx2LevelDBHash},
#endif
    {Cpu(), PortableLevelDBHash},
};

}  // namespace

const Kernels& KernelsOf(Hash hash, Cpu cpu) {
  return FirstThatRuns(hash == Hash::kLevelDB ? kLevelDBHash : kMurmurHash2,
                       cpu);
}

}  // namespace deltabloom::internal::classic
