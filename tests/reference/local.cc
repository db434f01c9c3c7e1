// Reference of the layout "local", bit by bit, and of the 64-bit hash.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reference/reference.h"
#include "tests/reference/uint128.h"

namespace deltabloom::reference {
namespace {

constexpr uint64_t kLane[4] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b,
                               0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1};
constexpr uint64_t kEnd = 0x510e527fade682d1;
constexpr uint64_t kAdd = 0x9b05688c2b3e6c1f;

constexpr uint64_t kMultiplier[16] = {
    0x428a2f99, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a5, 0xab1c5ed5, 0xd807aa99, 0x12835b01, 0x243185bf, 0x550c7dc3,
    0x72be5d75, 0x80deb1ff, 0x9bdc06a7, 0xc19bf175};

uint64_t Low(Uint128 product) { return static_cast<uint64_t>(product); }
uint64_t High(Uint128 product) { return static_cast<uint64_t>(product >> 64); }

struct State {
  uint64_t first;
  uint64_t second;

  void Step(uint64_t a, uint64_t b) {
    a ^= first;
    b ^= second;
    const Uint128 product = Uint128{a} * b;
    first = Low(product);
    second = High(product) + a - b + kAdd;
  }
  void Step16(std::string_view key, size_t at) {
    Step(Number(key, at, 8), Number(key, at + 8, 8));
  }
};

uint64_t Hash64(std::string_view key) {
  const size_t n = key.size();
  State x{kLane[0], kLane[1]};
  State y{0, 0};
  if (n >= 8 && n <= 16) {
    x.Step(Number(key, 0, 8), Number(key, n - 8, 8));
  } else if (n >= 4 && n < 8) {
    x.Step(Number(key, 0, 4), Number(key, n - 4, 4));
  } else if (n >= 1 && n < 4) {
    x.Step(Number(key, 0, 1) + 256 * Number(key, n / 2, 1) +
               65536 * Number(key, n - 1, 1),
           0);
  } else if (n == 0) {
    x.Step(0, 0);
  } else {
    y = {kLane[2], kLane[3]};
    size_t i = 0;
    for (; n - i > 32; i += 32) {
      x.Step16(key, i);
      y.Step16(key, i + 16);
    }
    x.Step16(key, n < 32 ? 0 : n - 32);
    y.Step16(key, n - 16);
  }
  const Uint128 product =
      Uint128{(x.first ^ y.second) ^ kEnd ^ n} * (x.second ^ y.first);
  return Low(product) ^ High(product);
}

struct Choice {
  uint32_t from_millibits;
  int marker;
};
constexpr Choice kChoices[] = {
    {0, 33},     {2100, 34},  {3600, 35},  {5100, 36},
    {6700, 37},  {8400, 38},  {10300, 39}, {12000, 48},
    {12500, 49}, {14200, 50}, {16000, 51}, {18500, 52},
    {20500, 53}, {22500, 54}, {25000, 55}, {27500, 56}};

int Marker(uint32_t millibits) {
  int marker = 0;
  for (const Choice& choice : kChoices) {
    if (millibits >= choice.from_millibits) marker = choice.marker;
  }
  return marker;
}

uint64_t PayloadSizeLocal(uint64_t keys, uint32_t millibits) {
  Uint128 blocks = (Uint128{keys} * millibits + 511999) / 512000;
  if (blocks < 1) blocks = 1;
  if (blocks > uint64_t{1} << 56) blocks = uint64_t{1} << 56;
  return 64 * static_cast<uint64_t>(blocks);
}

// The positions of a key's bits in a payload.
std::vector<uint64_t> Positions(uint64_t hash, int marker,
                                uint64_t payload_size) {
  const uint64_t blocks = payload_size / 64;
  const int probes = marker <= 40 ? marker - 32 : marker - 40;
  const int first = marker <= 40 ? probes : (probes + 1) / 2;
  std::vector<uint64_t> positions;
  for (int probe = 0; probe < probes; ++probe) {
    const bool next = probe >= first;
    const uint64_t block =
        (High(Uint128{hash} * blocks) + (next ? 1 : 0)) % blocks;
    const auto turn = static_cast<uint64_t>(next ? probe - first : probe);
    const uint64_t sector = (turn + 8 - hash / 4294967296 % 8) % 8;
    const uint64_t product =
        hash % 4294967296 * kMultiplier[sector + (next ? 8 : 0)] % 4294967296;
    const uint64_t word = sector + 8 * (product / (1 << 26) % 2);
    positions.push_back(512 * block + 32 * word + product / (1 << 27));
  }
  return positions;
}

std::string Build(const std::vector<std::string>& keys, uint32_t millibits,
                  uint64_t payload_size) {
  return BuildLocal(keys, Marker(millibits), payload_size);
}

bool MayMatch(std::string_view filter, std::string_view key) {
  const int marker = static_cast<unsigned char>(filter.back());
  for (uint64_t p : Positions(Hash64(key), marker, filter.size() - 1)) {
    if ((filter[p / 8] >> p % 8 & 1) == 0) return false;
  }
  return true;
}

}  // namespace

std::string BuildLocal(const std::vector<std::string>& keys, int marker,
                       uint64_t payload_size) {
  std::string filter(payload_size, '\0');
  for (const std::string& key : keys) {
    for (uint64_t p : Positions(Hash64(key), marker, payload_size)) {
      filter[p / 8] = static_cast<char>(filter[p / 8] | 1 << p % 8);
    }
  }
  filter.push_back(static_cast<char>(marker));
  return filter;
}

const Reference kLocal = {"local", Hash64, PayloadSizeLocal, Build, MayMatch};

}  // namespace deltabloom::reference
