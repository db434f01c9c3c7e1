#include "db_bench_ext/db/keys.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "db_bench_ext/common/mixing.h"

namespace deltabloom::db_reads {

using bench::Mix;

namespace {

// Big-endian: the order of keys is that of the numbers.
std::string MakeKey(uint64_t spread, uint64_t number) {
  std::string key;
  for (const uint64_t word : {spread, number}) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      key.push_back(static_cast<char>(word >> shift & 0xff));
    }
  }
  return key;
}

}  // namespace

std::string KeySet::Key(uint64_t i) const {
  return MakeKey(Mix(i ^ Mix(seed_)), i);
}

std::string KeySet::AbsentKey(uint64_t j) const {
  return Key((uint64_t{1} << 40) + j);
}

std::string KeySet::RangeEnd(std::string_view key) const {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  uint64_t spread = 0;
  for (size_t i = 0; i < 8; ++i) {
    spread = spread << 8 | static_cast<unsigned char>(key[i]);
  }
  return MakeKey(spread + std::min(kMost / size_ / 64, kMost - spread), 0);
}

std::string KeySet::Value(std::string_view key, size_t bytes) {
  uint64_t state = key.size();
  for (const char c : key) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  std::string value(bytes, '\0');
  for (size_t at = 0; at < bytes; at += sizeof(state)) {
    state = Mix(state);
    std::memcpy(&value[at], &state, std::min(sizeof(state), bytes - at));
  }
  return value;
}

}  // namespace deltabloom::db_reads
