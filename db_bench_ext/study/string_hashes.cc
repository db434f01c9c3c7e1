#include "db_bench_ext/study/string_hashes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>

#include "util/coding.h"
#include "util/hash.h"
#include "util/hash64.h"

namespace deltabloom::study {
namespace {

uint32_t Byte(char c) { return static_cast<unsigned char>(c); }

uint32_t Sdbm(std::string_view key) {
  uint32_t h = 0;
  for (char c : key) h = Byte(c) + (h << 6) + (h << 16) - h;
  return h;
}

uint32_t SimplifiedMurmur(std::string_view key) {
  return internal::LevelDBHash(key.data(), key.size(),
                               internal::kBloomHashSeed);
}

uint32_t Js(std::string_view key) {
  uint32_t h = 1315423911;
  for (char c : key) h ^= (h << 5) + Byte(c) + (h >> 2);
  return h;
}

// Four bits at a time; the top four are folded back, so 28 bits remain.
uint32_t Pjw(std::string_view key) {
  uint32_t h = 0;
  for (char c : key) {
    h = (h << 4) + Byte(c);
    const uint32_t top = h & 0xf0000000;
    if (top != 0) h = (h ^ (top >> 24)) & ~0xf0000000u;
  }
  return h;
}

// The same function as PJW at 32 bits, in the shape the ELF format gives it.
uint32_t Elf(std::string_view key) {
  uint32_t h = 0;
  for (char c : key) {
    h = (h << 4) + Byte(c);
    const uint32_t top = h & 0xf0000000;
    h ^= top >> 24;
    h &= ~top;
  }
  return h;
}

uint32_t Murmur2(std::string_view key) {
  return internal::MurmurHash2(key.data(), key.size(),
                               internal::kBloomHashSeed);
}

uint32_t Bkdr(std::string_view key) {
  uint32_t h = 0;
  for (char c : key) h = h * 131 + Byte(c);
  return h;
}

uint32_t CalcNr(std::string_view key) {
  uint32_t h = 1;
  uint32_t step = 4;
  for (char c : key) {
    h ^= ((h & 63) + step) * Byte(c) + (h << 8);
    step += 3;
  }
  return h;
}

uint32_t Ap(std::string_view key) {
  uint32_t h = 0xaaaaaaaa;
  bool odd = false;
  for (char c : key) {
    h ^= odd ? ~((h << 11) + (Byte(c) ^ (h >> 5)))
             : (h << 7) ^ (Byte(c) * (h >> 3));
    odd = !odd;
  }
  return h;
}

// Shifts seven bits a byte and never folds: only the last five bytes count.
uint32_t Bp(std::string_view key) {
  uint32_t h = 0;
  for (char c : key) h = (h << 7) ^ Byte(c);
  return h;
}

uint32_t Fnv1a(std::string_view key) {
  uint32_t h = 2166136261u;
  for (char c : key) h = (h ^ Byte(c)) * 16777619u;
  return h;
}

uint32_t Rs(std::string_view key) {
  uint32_t h = 0;
  uint32_t multiplier = 63689;
  for (char c : key) {
    h = h * multiplier + Byte(c);
    multiplier *= 378551;
  }
  return h;
}

uint32_t Djb(std::string_view key) {
  uint32_t h = 5381;
  for (char c : key) h = h * 33 + Byte(c);
  return h;
}

uint32_t Djb2(std::string_view key) {
  uint32_t h = 5381;
  for (char c : key) h = (h * 33) ^ Byte(c);
  return h;
}

uint32_t Dek(std::string_view key) {
  auto h = static_cast<uint32_t>(key.size());
  for (char c : key) h = (h << 5) ^ (h >> 27) ^ Byte(c);
  return h;
}

uint64_t RotateLeft(uint64_t x, int by) { return x << by | x >> (64 - by); }

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v1 = RotateLeft(v1, 13) ^ v0;
    v0 = RotateLeft(v0, 32);
    v2 += v3;
    v3 = RotateLeft(v3, 16) ^ v2;
    v0 += v3;
    v3 = RotateLeft(v3, 21) ^ v0;
    v2 += v1;
    v1 = RotateLeft(v1, 17) ^ v2;
    v2 = RotateLeft(v2, 32);
  }

  void Absorb(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

// `fold` maps each byte first: the identity, or ASCII to lower case.
template <typename Fold>
uint64_t SipHash(std::string_view key, Fold fold) {
  constexpr uint64_t kKey0 = 0x0706050403020100;
  constexpr uint64_t kKey1 = 0x0f0e0d0c0b0a0908;
  SipState state{0x736f6d6570736575 ^ kKey0, 0x646f72616e646f6d ^ kKey1,
                 0x6c7967656e657261 ^ kKey0, 0x7465646279746573 ^ kKey1};
  uint64_t word = 0;
  for (size_t i = 0; i < key.size(); ++i) {
    word |= uint64_t{fold(static_cast<unsigned char>(key[i]))} << (8 * (i % 8));
    if (i % 8 == 7) {
      state.Absorb(word);
      word = 0;
    }
  }
  state.Absorb(word | uint64_t{key.size() & 0xff} << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

uint32_t Sip(std::string_view key) {
  return static_cast<uint32_t>(SipHash24(key));
}

uint32_t SipNoCase(std::string_view key) {
  return static_cast<uint32_t>(SipHash(key, [](unsigned char c) {
    return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  }));
}

uint32_t Xxh3(std::string_view key) {
  return static_cast<uint32_t>(XXH3_64bits(key.data(), key.size()));
}

uint32_t Ours64(std::string_view key) {
  return static_cast<uint32_t>(internal::Hash64(key.data(), key.size()));
}

}  // namespace

uint64_t SipHash24(std::string_view key) {
  return SipHash(key, [](unsigned char c) { return c; });
}

const std::vector<StringHash>& StringHashes() {
  static const std::vector<StringHash> hashes = {
      {"SDBMHash", Sdbm, "sdbm database library"},
      {"SimMurMurHash", SimplifiedMurmur, "LevelDB, util/hash.cc"},
      {"JSHash", Js, "Justin Sobel"},
      {"PJW", Pjw, "Aho, Sethi, Ullman: Compilers (P. J. Weinberger)"},
      {"MurMurHash2", Murmur2, "Austin Appleby"},
      {"ELFHash", Elf, "System V ABI, symbol hash of ELF"},
      {"BKDRHash", Bkdr, "Kernighan, Ritchie; multiplier 131"},
      {"CalcNrHash", CalcNr, "MySQL's string hash: h and a growing step"},
      {"APHash", Ap, "Arash Partow"},
      {"BPHash", Bp, "shift by 7 and xor"},
      {"FNVHash", Fnv1a, "Fowler, Noll, Vo: FNV-1a, 32 bits"},
      {"RSHash", Rs, "Robert Sedgewick: Algorithms in C"},
      {"DJB", Djb, "D. J. Bernstein: times 33 plus"},
      {"DJB2Hash", Djb2, "D. J. Bernstein: times 33 xor"},
      {"DEKHash", Dek, "D. E. Knuth: The Art of Computer Programming, 6.4"},
      {"SipHashNoCase", SipNoCase, "SipHash-2-4 over lower case"},
      {"SipHash", Sip, "Aumasson, Bernstein: SipHash-2-4"},
      {"XXH3", Xxh3, "Yann Collet: XXH3, 64 bits, low half"},
      {"Deltabloom64", Ours64, "docs/format.md, low half"},
  };
  return hashes;
}

}  // namespace deltabloom::study
