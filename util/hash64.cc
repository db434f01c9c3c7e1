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
  Pair64 x{kHash64Lanes[0], kHash64Lanes[1]};
  if (size <= 16) {
    const Pair64 words = ShortWords(data, size);
    x = Hash64Step(words.low ^ x.low, words.high ^ x.high);
    return Hash64Finish(x.low, x.high, size);
  }
  Pair64 y{kHash64Lanes[2], kHash64Lanes[3]};
  const auto step = [&x, &y](const char* first, const char* second) {
    x = Hash64Step(LoadFixed64(first) ^ x.low, LoadFixed64(first + 8) ^ x.high);
    y = Hash64Step(LoadFixed64(second) ^ y.low,
                   LoadFixed64(second + 8) ^ y.high);
  };
  const char* const end = data + size;
  for (; end - data > 32; data += 32) step(data, data + 16);
  // The last 32 bytes, or for a key that is shorter its first 16 and last 16.
  step(size < 32 ? data : end - 32, end - 16);
  return Hash64Finish(x.low ^ y.high, x.high ^ y.low, size);
}

}  // namespace deltabloom::internal
