#include "db_bench_ext/filter_bench/keys.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::bench {

void KeyMaker::Write(uint64_t number, bool present, char* key) const {
  uint64_t x = number * 2 + (present ? 0 : 1);
  switch (kind_) {
    case KeyKind::kRandom:
      x ^= seed_;
      for (size_t at = 0; at < size_; at += sizeof(x)) {
        x = Mix(x);
        std::memcpy(key + at, &x, std::min(sizeof(x), size_ - at));
      }
      break;
    case KeyKind::kSequential:
      std::memset(key, 't', size_ - sizeof(x));
      x = __builtin_bswap64(x);
      std::memcpy(key + size_ - sizeof(x), &x, sizeof(x));
      break;
    case KeyKind::kDecimal:
      std::memset(key, '0', size_);
      for (char* digit = key + size_; x > 0 && digit > key; x /= 10) {
        *--digit = static_cast<char>('0' + x % 10);
      }
      break;
  }
}

KeyChunk::KeyChunk(const KeyMaker& maker, size_t bytes)
    : key_size_(maker.size()),
      capacity_(std::max(bytes / maker.size() & ~size_t{31}, size_t{128})),
      keys_(capacity_ * maker.size()) {}

uint64_t TakeAbsent(uint64_t count) {
  static std::atomic<uint64_t> next{0};
  return next.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace deltabloom::bench
