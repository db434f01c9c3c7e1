// As avx512_emulated.cc, for the layout compact.
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#define DELTABLOOM_TARGET

#include "tests/compact/simde_masked_load.h"
#include "util/compact_avx512-inl.h"
#include "util/compact_lookup-inl.h"

namespace deltabloom::internal {

const CompactLookups& CompactAvx512() { return Lookups(); }

}  // namespace deltabloom::internal
