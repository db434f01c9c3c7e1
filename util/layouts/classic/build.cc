#include "util/layouts/classic/build.h"

#include "util/layouts/classic/kernels.h"

namespace deltabloom::internal::classic {

bool Build(HashList* hashes, bool, const Plan& plan, Cpu cpu,
           unsigned char* payload) {
  // Setting bits is the same for both hashes.
  const auto set_bits = KernelsOf(Hash::kMurmurHash2, cpu).set_bits;
  const Shape& shape = plan.shape.As<Shape>();
  hashes->ForEachChunk<uint32_t>([&](const uint32_t* chunk, size_t n) {
    set_bits(chunk, n, shape, payload);
  });
  return true;
}

}  // namespace deltabloom::internal::classic
