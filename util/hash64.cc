#include "util/hash64.h"

namespace deltabloom::internal {
namespace {

// The words of keys of at most 16 bytes. Every byte is in one of them.
Pair64 ShortWords(const char* data, size_t size) {
  if (size >= 8) return {LoadFixed64(data), LoadFixed64(data + size - 8)};
  if (size >= 4) return {LoadFixed32(data), LoadFixed32(data + size - 4)};
  if (size == 0) return {0, 0};
  const auto byte = [data](size_t i) {
    return uint64_t{static_cast<unsigned char>(data[i])};
  };
  return {byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16, 0};
}

}  // namespace

uint64_t Hash64AnySize(const char* data, size_t size) {
  if (size > 32) return Hash64Long(data, size);
  if (size > 16) return Hash64Medium(data, size);
  const Pair64 words = ShortWords(data, size);
  const Pair64 x =
      Hash64Step(words.low ^ kHash64Lanes[0], words.high ^ kHash64Lanes[1]);
  return Hash64Finish(x.low, x.high, size);
}

}  // namespace deltabloom::internal
