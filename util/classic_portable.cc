#include <utility>

#define DELTABLOOM_TARGET

#include "util/classic_scalar-inl.h"

namespace deltabloom::internal {
namespace {

template <ClassicHash kHash, uint32_t kProbes>
void MayMatchMany(const ParsedFilter& parsed, const std::string_view* keys,
                  size_t n, bool* may_match) {
  for (size_t i = 0; i < n; ++i) {
    may_match[i] = MayMatchOne<kHash, kProbes>(parsed, keys[i]);
  }
}

void SetBits(const uint32_t* hashes, size_t n, const Modulo& modulo,
             uint32_t probes, unsigned char* payload) {
  for (size_t i = 0; i < n; ++i) {
    SetBitsOfOne(hashes[i], modulo, probes, payload);
  }
}

template <ClassicHash kHash, uint32_t... kProbes>
constexpr ClassicKernels MakeKernels(
    std::integer_sequence<uint32_t, kProbes...>) {
  return {{MayMatchOne<kHash, Specialised(kProbes)>...},
          {MayMatchMany<kHash, Specialised(kProbes)>...},
          SetBits};
}

constexpr ClassicKernels kMurmurHash2Kernels = MakeKernels<MurmurHash2>(
    std::make_integer_sequence<uint32_t, kMaxClassicProbes + 1>());
constexpr ClassicKernels kLevelDBHashKernels = MakeKernels<LevelDBHash>(
    std::make_integer_sequence<uint32_t, kMaxClassicProbes + 1>());

}  // namespace

const ClassicKernels& ClassicPortable(Hash hash) {
  return hash == Hash::kLevelDB ? kLevelDBHashKernels : kMurmurHash2Kernels;
}

}  // namespace deltabloom::internal
