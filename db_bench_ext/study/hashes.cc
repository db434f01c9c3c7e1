// The study of string hashes, and the hashes.
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/study/studies.h"
#include "util/hash.h"
#include "util/hash64.h"
#include "util/layouts/classic/classic.h"
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

uint32_t Sdbm(std::string_view key) {
  return Fold(key, 0, [](uint32_t h, uint32_t c) {
    return c + (h << 6) + (h << 16) - h;
  });
}

uint32_t LevelDB(std::string_view key) {
  return internal::LevelDBHash(key.data(), key.size(),
                               internal::kBloomHashSeed);
}

uint32_t Js(std::string_view key) {
  return Fold(key, 1315423911, [](uint32_t h, uint32_t c) {
    return h ^ ((h << 5) + c + (h >> 2));
  });
}

uint32_t Murmur2(std::string_view key) {
  return internal::MurmurHash2(key.data(), key.size(),
                               internal::kBloomHashSeed);
}

uint32_t Bkdr(std::string_view key) {
  return Fold(key, 0, [](uint32_t h, uint32_t c) { return h * 131 + c; });
}

// This hash never folds: only the last five bytes count.
uint32_t Bp(std::string_view key) {
  return Fold(key, 0, [](uint32_t h, uint32_t c) { return (h << 7) ^ c; });
}

uint32_t Fnv1a(std::string_view key) {
  return Fold(key, 2166136261u,
              [](uint32_t h, uint32_t c) { return (h ^ c) * 16777619u; });
}

uint32_t Djb(std::string_view key) {
  return Fold(key, 5381, [](uint32_t h, uint32_t c) { return h * 33 + c; });
}

uint32_t Djb2(std::string_view key) {
  return Fold(key, 5381, [](uint32_t h, uint32_t c) { return (h * 33) ^ c; });
}

uint32_t Dek(std::string_view key) {
  return Fold(key, static_cast<uint32_t>(key.size()),
              [](uint32_t h, uint32_t c) { return (h << 5) ^ (h >> 27) ^ c; });
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

// Uses the key 00 01 .. 0f of the published vectors.
uint32_t Sip(std::string_view key) {
  return static_cast<uint32_t>(
      internal::SipHash({0x0706050403020100, 0x0f0e0d0c0b0a0908}, key));
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

constexpr uint32_t kBitsPerKey = 10;
constexpr uint32_t kProbes = 6;

// The classic filter (docs/format.md) with any hash.
class HashedFilter {
 public:
  HashedFilter(const StringHash& hash, const std::vector<std::string>& keys)
      : hash_(hash.hash),
        bits_(8 * internal::classic::GoodSizeFrom(std::max<uint64_t>(
                      8, (keys.size() * kBitsPerKey + 7) / 8))),
        set_(bits_) {
    for (const std::string& key : keys) {
      ForEachProbe(key, [&](uint64_t bit) { return set_[bit] = true; });
    }
  }

  bool MayMatch(const std::string& key) const {
    return ForEachProbe(key, [&](uint64_t bit) { return set_[bit]; });
  }

 private:
  // False as soon as fn(bit) is.
  template <typename Fn>
  bool ForEachProbe(const std::string& key, const Fn& fn) const {
    uint32_t h = hash_(key);
    const uint32_t delta = h >> 17 | h << 15;
    for (uint32_t i = 0; i < kProbes; ++i, h += delta) {
      if (!fn(h % bits_)) return false;
    }
    return true;
  }

  uint32_t (*hash_)(std::string_view);
  uint64_t bits_;
  std::vector<bool> set_;
};

uint64_t Collisions(const StringHash& hash,
                    const std::vector<std::string>& keys) {
  std::vector<uint32_t> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) values.push_back(hash.hash(key));
  std::sort(values.begin(), values.end());
  const auto distinct = std::unique(values.begin(), values.end());
  return static_cast<uint64_t>(values.end() - distinct);
}

// n keys less the expected number of distinct values of an ideal 32-bit hash.
double ExpectedCollisions(size_t keys) {
  const double n = static_cast<double>(keys);
  constexpr double kValues = 4294967296.0;  // 2^32
  return n + kValues * std::expm1(n * std::log1p(-1 / kValues));
}

struct Avalanche {
  double mean_flips = 0;  // share of output bits that a flipped input bit flips
  double worst_bias = 0;  // largest |share - 1/2| over single output bits
};

Avalanche MeasureAvalanche(const StringHash& hash,
                           const std::vector<std::string>& keys,
                           size_t sample) {
  const size_t stride = std::max<size_t>(1, keys.size() / sample);
  uint64_t flips[32] = {};
  uint64_t trials = 0;
  for (size_t i = 0; i < keys.size(); i += stride) {
    std::string key = keys[i];
    const uint32_t before = hash.hash(key);
    for (size_t bit = 0; bit < key.size() * 8; ++bit) {
      const auto mask = static_cast<char>(1u << (bit % 8));
      key[bit / 8] ^= mask;
      const uint32_t changed = before ^ hash.hash(key);
      key[bit / 8] ^= mask;
      for (int out = 0; out < 32; ++out) flips[out] += changed >> out & 1;
      ++trials;
    }
  }
  Avalanche result;
  if (trials == 0) return result;
  for (uint64_t count : flips) {
    const double share =
        static_cast<double>(count) / static_cast<double>(trials);
    result.mean_flips += share / 32;
    result.worst_bias = std::max(result.worst_bias, std::abs(share - 0.5));
  }
  return result;
}

// CPU time of this thread, which other programs do not disturb.
double CpuNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

double NanosecondsPerKey(const StringHash& hash,
                         const std::vector<std::string>& keys) {
  // Small sets are hashed several times, so that reading the clock does not
  // count.
  const size_t rounds = std::max<size_t>(1, 200000 / keys.size());
  uint32_t sum = 0;
  const double start = CpuNanoseconds();
  for (size_t round = 0; round < rounds; ++round) {
    for (const std::string& key : keys) sum += hash.hash(key);
  }
  const double took = CpuNanoseconds() - start;
  volatile uint32_t keep = sum;
  static_cast<void>(keep);
  return took / static_cast<double>(rounds * keys.size());
}

}  // namespace

const std::vector<StringHash>& StringHashes() {
  static const std::vector<StringHash> hashes = {
      {"SDBMHash", Sdbm, "sdbm database library"},
      {"SimMurMurHash", LevelDB, "LevelDB, util/hash.cc"},
      {"JSHash", Js, "Justin Sobel"},
      {"PJW", Pjw, "Aho, Sethi, Ullman: Compilers (P. J. Weinberger)"},
      {"MurMurHash2", Murmur2, "Austin Appleby"},
      // PJW and ELF are the same function at 32 bits.
      {"ELFHash", Pjw, "System V ABI, symbol hash of ELF"},
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

Json StudyHashes(const std::vector<KeySet>& sets, int repetitions,
                 size_t flipped_keys) {
  Json rows = Json::array();
  const std::vector<StringHash>& hashes = StringHashes();
  for (const KeySet& set : sets) {
    if (set.keys.empty()) continue;
    // Every repetition times every hash, so that a slow moment of the machine
    // affects all of them.
    std::vector<std::vector<double>> times(hashes.size());
    for (int i = 0; i < repetitions; ++i) {
      bench::ShowProgress("hashes on " + set.name + ", timing " +
                          std::to_string(i + 1) + " of " +
                          std::to_string(repetitions));
      for (size_t h = 0; h < hashes.size(); ++h) {
        times[h].push_back(NanosecondsPerKey(hashes[h], set.keys));
      }
    }
    for (size_t h = 0; h < hashes.size(); ++h) {
      bench::ShowProgress("hashes on " + set.name + ", " + hashes[h].name);
      const HashedFilter filter(hashes[h], set.keys);
      const auto hits = static_cast<uint64_t>(std::count_if(
          set.absent.begin(), set.absent.end(),
          [&](const std::string& key) { return filter.MayMatch(key); }));
      const Avalanche avalanche =
          MeasureAvalanche(hashes[h], set.keys, flipped_keys);
      rows.push_back({
          {"dataset", set.name},
          {"hash", hashes[h].name},
          {"keys", set.keys.size()},
          {"ns_per_key", bench::Median(times[h])},
          {"collisions", Collisions(hashes[h], set.keys)},
          {"expected_collisions", ExpectedCollisions(set.keys.size())},
          {"mean_flips", avalanche.mean_flips},
          {"worst_bias", avalanche.worst_bias},
          {"false_positive_rate",
           static_cast<double>(hits) / static_cast<double>(set.absent.size())},
          {"error", RateError(hits, set.absent.size())},
      });
    }
  }
  return rows;
}

}  // namespace deltabloom::study
