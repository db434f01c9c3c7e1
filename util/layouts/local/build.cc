#include "util/layouts/local/build.h"

#include "util/layouts/local/kernels.h"

namespace deltabloom::internal::local {

bool Build(HashList* hashes, bool, const Plan& plan, Cpu cpu,
           unsigned char* payload) {
  const auto set_bits = KernelsOf(cpu).set_bits;
  const Shape& shape = plan.shape.As<Shape>();
  hashes->ForEachChunk<uint64_t>([&](const uint64_t* chunk, size_t n) {
    set_bits(chunk, n, shape, payload);
  });
  return true;
}

}  // namespace deltabloom::internal::local
