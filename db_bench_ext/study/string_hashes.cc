#include "db_bench_ext/study/studies.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>

#include "util/hash.h"
#include "util/hash64.h"
#include "util/siphash.h"

namespace deltabloom::study {
namespace {

uint32_t Byte(char c) { return static_cast<unsigned char>(c); }

// A hash that takes one byte after the other.
template <typename Step>
uint32_t Fold(std::string_view key, uint32_t start, Step step) {
  uint32_t h = start;
  for (char c : key) h = step(h, Byte(c));
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

uint32_t Rs(std::string_view key) {
  uint32_t h = 0;
  uint32_t multiplier = 63689;
  for (char c : key) {
    h = h * multiplier + Byte(c);
    multiplier *= 378551;
  }
  return h;
}

uint32_t Sip(std::string_view key) {
  return static_cast<uint32_t>(SipHash24(key));
}

uint32_t SipNoCase(std::string_view key) {
  std::string lower(key);
  for (char& c : lower)
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 32 : c);
  return Sip(lower);
}

uint32_t Xxh3(std::string_view key) {
  return static_cast<uint32_t>(XXH3_64bits(key.data(), key.size()));
}

uint32_t Ours64(std::string_view key) {
  return static_cast<uint32_t>(internal::Hash64(key.data(), key.size()));
}

}  // namespace

uint64_t SipHash24(std::string_view key) {
  return internal::SipHash({0x0706050403020100, 0x0f0e0d0c0b0a0908}, key);
}

const std::vector<StringHash>& StringHashes() {
  static const std::vector<StringHash> hashes = {
      {"SDBMHash",
       [](std::string_view key) {
         return Fold(key, 0, [](uint32_t h, uint32_t c) {
           return c + (h << 6) + (h << 16) - h;
         });
       },
       "sdbm database library"},
      {"SimMurMurHash",
       [](std::string_view key) {
         return internal::LevelDBHash(key.data(), key.size(),
                                      internal::kBloomHashSeed);
       },
       "LevelDB, util/hash.cc"},
      {"JSHash",
       [](std::string_view key) {
         return Fold(key, 1315423911, [](uint32_t h, uint32_t c) {
           return h ^ ((h << 5) + c + (h >> 2));
         });
       },
       "Justin Sobel"},
      {"PJW", Pjw, "Aho, Sethi, Ullman: Compilers (P. J. Weinberger)"},
      {"MurMurHash2",
       [](std::string_view key) {
         return internal::MurmurHash2(key.data(), key.size(),
                                      internal::kBloomHashSeed);
       },
       "Austin Appleby"},
      // The same function at 32 bits.
      {"ELFHash", Pjw, "System V ABI, symbol hash of ELF"},
      {"BKDRHash",
       [](std::string_view key) {
         return Fold(key, 0,
                     [](uint32_t h, uint32_t c) { return h * 131 + c; });
       },
       "Kernighan, Ritchie; multiplier 131"},
      {"CalcNrHash", CalcNr, "MySQL's string hash: h and a growing step"},
      {"APHash", Ap, "Arash Partow"},
      // Never folds: only the last five bytes count.
      {"BPHash",
       [](std::string_view key) {
         return Fold(key, 0,
                     [](uint32_t h, uint32_t c) { return (h << 7) ^ c; });
       },
       "shift by 7 and xor"},
      {"FNVHash",
       [](std::string_view key) {
         return Fold(key, 2166136261u, [](uint32_t h, uint32_t c) {
           return (h ^ c) * 16777619u;
         });
       },
       "Fowler, Noll, Vo: FNV-1a, 32 bits"},
      {"RSHash", Rs, "Robert Sedgewick: Algorithms in C"},
      {"DJB",
       [](std::string_view key) {
         return Fold(key, 5381,
                     [](uint32_t h, uint32_t c) { return h * 33 + c; });
       },
       "D. J. Bernstein: times 33 plus"},
      {"DJB2Hash",
       [](std::string_view key) {
         return Fold(key, 5381,
                     [](uint32_t h, uint32_t c) { return (h * 33) ^ c; });
       },
       "D. J. Bernstein: times 33 xor"},
      {"DEKHash",
       [](std::string_view key) {
         return Fold(
             key, static_cast<uint32_t>(key.size()),
             [](uint32_t h, uint32_t c) { return (h << 5) ^ (h >> 27) ^ c; });
       },
       "D. E. Knuth: The Art of Computer Programming, 6.4"},
      {"SipHashNoCase", SipNoCase, "SipHash-2-4 over lower case"},
      {"SipHash", Sip, "Aumasson, Bernstein: SipHash-2-4"},
      {"XXH3", Xxh3, "Yann Collet: XXH3, 64 bits, low half"},
      {"Deltabloom64", Ours64, "docs/format.md, low half"},
  };
  return hashes;
}

}  // namespace deltabloom::study
