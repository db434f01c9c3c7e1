// Reference of the layout "classic", bit by bit.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reference/reference.h"
#include "tests/reference/uint128.h"

namespace deltabloom::reference {
namespace {

constexpr uint64_t kTwoTo32 = uint64_t{1} << 32;

uint64_t Times(uint64_t a, uint64_t b) { return a * b % kTwoTo32; }

uint64_t MurmurHash2(std::string_view key) {
  const uint64_t m = 0x5bd1e995;
  const size_t whole = key.size() / 4 * 4;
  uint64_t h = 0xbc9f1d34 ^ (key.size() % kTwoTo32);
  for (size_t i = 0; i < whole; i += 4) {
    uint64_t k = Times(Number(key, i, 4), m);
    k ^= k / (1 << 24);
    h = Times(h, m) ^ Times(k, m);
  }
  const size_t rest = key.size() - whole;
  if (rest > 0) h = Times(h ^ Number(key, whole, rest), m);
  h = Times(h ^ (h / (1 << 13)), m);
  return h ^ (h / (1 << 15));
}

uint64_t LevelDBHash(std::string_view key) {
  const uint64_t m = 0xc6a4a793;
  const size_t whole = key.size() / 4 * 4;
  uint64_t h = 0xbc9f1d34 ^ Times(key.size() % kTwoTo32, m);
  for (size_t i = 0; i < whole; i += 4) {
    h = Times((h + Number(key, i, 4)) % kTwoTo32, m);
    h ^= h / (1 << 16);
  }
  const size_t rest = key.size() - whole;
  if (rest > 0) {
    h = Times((h + Number(key, whole, rest)) % kTwoTo32, m);
    h ^= h / (1 << 24);
  }
  return h;
}

// Bits wanted, before the upper limit.
uint64_t PayloadSize(uint64_t keys, uint32_t millibits, uint64_t limit) {
  Uint128 bits = Uint128{keys} * millibits / 1000;
  if (bits < 64) bits = 64;
  const Uint128 bytes = (bits + 7) / 8;
  return bytes > limit ? limit : static_cast<uint64_t>(bytes);
}

// inverse[a] * a = 1 modulo 65537. Every a is a power of 3, and 3 to the
// 65536th is 1.
std::vector<uint64_t> Inverses() {
  std::vector<uint64_t> power(65537);
  power[0] = 1;
  for (size_t i = 1; i <= 65536; ++i) power[i] = power[i - 1] * 3 % 65537;
  std::vector<uint64_t> inverse(65537);
  for (size_t i = 0; i <= 65536; ++i) inverse[power[i]] = power[65536 - i];
  return inverse;
}

bool IsGoodSize(uint64_t bytes) {
  static const std::vector<uint64_t> inverse = Inverses();
  if (bytes % 3 == 0 || bytes % 5 == 0 || bytes % 65537 == 0) return false;
  const uint64_t x = inverse[bytes * 8 % 65537];
  for (uint64_t y : {x, 2 * x % 65537, 3 * x % 65537}) {
    if (y < 8192 || y > 57345) return false;
  }
  return true;
}

// Positions have 32 bits, so a larger filter would be a waste.
uint64_t PayloadSizeMurmurHash2(uint64_t keys, uint32_t millibits) {
  uint64_t bytes = PayloadSize(keys, millibits, kTwoTo32 / 8);
  if (bytes >= 32768) {
    while (!IsGoodSize(bytes) && bytes < kTwoTo32 / 8) ++bytes;
  }
  return bytes;
}

// LevelDB has no upper limit but the number of bits being a 64-bit one.
uint64_t PayloadSizeLevelDB(uint64_t keys, uint32_t millibits) {
  return PayloadSize(keys, millibits, uint64_t{1} << 61);
}

std::vector<uint64_t> Positions(uint64_t hash, uint64_t probes, uint64_t bits) {
  const uint64_t delta = hash / (1 << 17) + Times(hash, 1 << 15);
  std::vector<uint64_t> positions;
  for (uint64_t i = 0; i < probes; ++i) {
    positions.push_back((hash + i * delta) % kTwoTo32 % bits);
  }
  return positions;
}

template <uint64_t (*kHash)(std::string_view)>
std::string Build(const std::vector<std::string>& keys, uint32_t millibits,
                  uint64_t payload_size) {
  uint64_t probes = uint64_t{millibits} * 69 / 100 / 1000;
  if (probes < 1) probes = 1;
  if (probes > 30) probes = 30;
  std::vector<bool> bits(payload_size * 8);
  for (const std::string& key : keys) {
    for (uint64_t position : Positions(kHash(key), probes, bits.size())) {
      bits[position] = true;
    }
  }
  std::string filter;
  for (size_t i = 0; i < bits.size(); i += 8) {
    int byte = 0;
    for (size_t bit = 0; bit < 8; ++bit) {
      if (bits[i + bit]) byte += 1 << bit;
    }
    filter.push_back(static_cast<char>(byte));
  }
  filter.push_back(static_cast<char>(probes));
  return filter;
}

template <uint64_t (*kHash)(std::string_view)>
bool MayMatch(std::string_view filter, std::string_view key) {
  const uint64_t probes = Byte(filter, filter.size() - 1);
  const uint64_t bits = (filter.size() - 1) * 8;
  for (uint64_t position : Positions(kHash(key), probes, bits)) {
    const uint64_t byte = Byte(filter, position / 8);
    if ((byte & (1u << (position % 8))) == 0) return false;
  }
  return true;
}

}  // namespace

const Reference kClassicMurmurHash2 = {
    "classic", MurmurHash2, PayloadSizeMurmurHash2, Build<MurmurHash2>,
    MayMatch<MurmurHash2>};

const Reference kClassicLevelDBHash = {"classic-leveldb", LevelDBHash,
                                       PayloadSizeLevelDB, Build<LevelDBHash>,
                                       MayMatch<LevelDBHash>};

}  // namespace deltabloom::reference
