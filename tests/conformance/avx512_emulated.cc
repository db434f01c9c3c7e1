// The AVX-512 kernels over SIMDe's emulation of the intrinsics, in the place
// of the native ones: so they are tested on CPUs without AVX-512.
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#define DELTABLOOM_TARGET

#include "tests/conformance/subject.h"
#include "util/classic_avx512-inl.h"

namespace deltabloom::internal {

const ClassicKernels& ClassicAvx512(Hash hash) {
  return hash == Hash::kLevelDB ? kLevelDBHashKernels : kMurmurHash2Kernels;
}

}  // namespace deltabloom::internal

namespace deltabloom::test {

// The layouts whose kernels are above, in avx512_emulated_local.cc and in
// avx512_emulated_compact.cc.
bool IsEmulated(const internal::LayoutRow& row) {
  return row.layout == Layout::kClassic || row.layout == Layout::kLocal ||
         row.layout == Layout::kCompact;
}

}  // namespace deltabloom::test
