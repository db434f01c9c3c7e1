#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "deltabloom/go_murmur3_filter.h"
#include "deltabloom/guava_filter.h"
#include "deltabloom/sizing.h"
#include "shared_filters/memory/local_size.h"
#include "shared_filters/memory/murmur3.h"
#include "shared_filters/redis/descriptor.h"
#include "util/hash64.h"
#include "util/layouts/local/local.h"
#include "util/rates/rates.h"

namespace deltabloom::internal {
namespace {

// A number of PHP: an integer of 64 bits, or, where a sum or product does not
// fit one, a double.
class Php {
 public:
  Php(int64_t value)  // NOLINT: as in PHP, all numbers mix
      : int_(value), double_(static_cast<double>(value)) {}

  friend Php operator+(Php a, Php b) {
    int64_t sum;
    const bool fits = !__builtin_add_overflow(a.int_, b.int_, &sum);
    return {a, b, fits, sum, a.double_ + b.double_};
  }
  friend Php operator-(Php a, Php b) {
    int64_t difference;
    const bool fits = !__builtin_sub_overflow(a.int_, b.int_, &difference);
    return {a, b, fits, difference, a.double_ - b.double_};
  }
  friend Php operator*(Php a, Php b) {
    int64_t product;
    const bool fits = !__builtin_mul_overflow(a.int_, b.int_, &product);
    return {a, b, fits, product, a.double_ * b.double_};
  }

  // Converts as (int) does, and as operators on bits and % do: a double beyond
  // the integers counts modulo 2^64.
  int64_t Int() const {
    if (!is_double_) return int_;
    if (!std::isfinite(double_)) return 0;
    if (double_ >= -0x1p63 && double_ < 0x1p63) {
      return static_cast<int64_t>(double_);
    }
    double rest = std::fmod(double_, 0x1p64);
    if (rest < 0) rest += 0x1p64;
    if (rest >= 0x1p64) rest = 0;
    return static_cast<int64_t>(static_cast<uint64_t>(rest));
  }

  // << drops bits.
  int64_t operator<<(unsigned by) const {
    return static_cast<int64_t>(static_cast<uint64_t>(Int()) << by);
  }

 private:
  Php(Php a, Php b, bool fits, int64_t exact, double rounded) : Php(exact) {
    is_double_ = a.is_double_ || b.is_double_ || !fits;
    if (is_double_) double_ = rounded;
  }

  int64_t int_;
  double double_;
  bool is_double_ = false;
};

constexpr int64_t kModulus = 0xffffffff;

// h = step(h, c) for each byte c of the key, then h = end(h).
template <typename Step>
uint32_t Fold(
    std::string_view key, int64_t h, Step step,
    Php (*end)(Php) = [](Php h) { return h; }) {
  Php hash(h);
  for (const char c : key) {
    hash = step(hash, int64_t{static_cast<unsigned char>(c)});
  }
  // % keeps the sign of the dividend; then the low 32 bits are taken.
  return static_cast<uint32_t>(end(hash).Int() % kModulus & kModulus);
}

struct NamedHash {
  std::string_view name;
  PhpHash hash;
};
constexpr NamedHash kHashes[] = {
    {"JS",
     [](std::string_view key) {
       return Fold(key, 1315423911, [](Php h, int64_t c) {
         return h.Int() ^ ((h << 5) + Php(c) + (h.Int() >> 2)).Int();
       });
     }},
    // Its upper bits are folded once, after the last byte.
    {"PJW",
     [](std::string_view key) {
       return Fold(
           key, 0, [](Php h, int64_t c) { return (h << 4) + Php(c); },
           [](Php h) {
             constexpr int64_t kHighBits = int64_t{0xffffffff} << 28;
             const int64_t test = h.Int() & kHighBits;
             return test == 0 ? h : Php((h.Int() ^ test >> 24) & ~kHighBits);
           });
     }},
    {"ELF",
     [](std::string_view key) {
       return Fold(key, 0, [](Php h, int64_t c) {
         const int64_t sum = ((h << 4) + Php(c)).Int();
         const int64_t x = sum & 0xf0000000;
         return (sum ^ x >> 24) & ~x;
       });
     }},
    {"BKDR",
     [](std::string_view key) {
       return Fold(key, 0,
                   [](Php h, int64_t c) { return (h * 131 + c).Int(); });
     }},
    {"SDBM",
     [](std::string_view key) {
       return Fold(key, 0, [](Php h, int64_t c) {
         return (Php(c) + (h << 6) + (h << 16) - h).Int();
       });
     }},
    {"DJB",
     [](std::string_view key) {
       return Fold(key, 5381, [](Php h, int64_t c) {
         return Php((Php(h << 5) + h).Int()) + c;
       });
     }},
    {"DEK",
     [](std::string_view key) {
       return Fold(key, static_cast<int64_t>(key.size()), [](Php h, int64_t c) {
         return ((h << 5) ^ h.Int() >> 27) ^ c;
       });
     }},
    {"FNV", [](std::string_view key) {
       return Fold(key, 2166136261, [](Php h, int64_t c) {
         return (h * 16777619).Int() % kModulus ^ c;
       });
     }}};

constexpr uint64_t kPhpBits = uint64_t{1} << 32;
constexpr uint64_t kMaxLocalBits = uint64_t{1} << 48;
constexpr uint64_t kMaxJavaInt = INT32_MAX;

// Null if no row has that name.
template <typename Row, size_t n>
const Row* FindByName(const Row (&rows)[n], std::string_view name) {
  const Row* const row = std::find_if(
      rows, rows + n, [name](const Row& one) { return one.name == name; });
  return row == rows + n ? nullptr : row;
}

// "JS, PJW, ELF".
template <typename Row, size_t n>
std::string NamesOf(const Row (&rows)[n]) {
  std::string names;
  for (const Row& row : rows) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

constexpr SchemeRow kSchemes[] = {
    {"local", SchemeKind::kLocal, 0, local::kSectors, kBlockBits, kMaxLocalBits,
     kBlockBits, "a multiple of 512 from 512 to 2^48"},
    {"go-murmur3", SchemeKind::kGoMurmur3, 0, kMaxProbes, 1, kMaxRedisOffset, 1,
     "1 to 2^32 - 1"},
    {"go-murmur3-14", SchemeKind::kGoMurmur3, kGoZeroProbes, kMaxProbes, 1,
     kMaxRedisOffset, 1, "1 to 2^32 - 1"},
    {"guava-helper", SchemeKind::kGuavaHelper, 0, kMaxProbes, 1, kMaxJavaInt, 1,
     "1 to 2^31 - 1"},
    {"php-named-hashes", SchemeKind::kPhpNamedHashes, 0, kMaxProbes, kPhpBits,
     kPhpBits, 1, "2^32, or 0 for the same"},
};

// The rate of a local filter in Redis: that of the layout, and what the markers
// add, which a probe always finds set.
double WithMarkers(double rate, uint32_t probes) {
  if (rate <= 0) return 0;
  const double share_set = std::pow(rate, 1.0 / probes);
  return rate * (1 + probes / double{kBlockBits} * (1 / share_set - 1));
}

}  // namespace

PhpHash FindPhpHash(std::string_view name) {
  constexpr std::string_view kEnding = "Hash";
  if (name.size() > kEnding.size() &&
      name.substr(name.size() - kEnding.size()) == kEnding) {
    name.remove_suffix(kEnding.size());
  }
  const NamedHash* const row = FindByName(kHashes, name);
  return row == nullptr ? nullptr : row->hash;
}

const SchemeRow* FindScheme(std::string_view name) {
  return FindByName(kSchemes, name);
}

std::string SchemeNames() { return NamesOf(kSchemes); }

std::string Scheme::Name() const {
  // A row with a number of probes follows that of its kind without one.
  return std::string((row->fixed_probes == 0 ? row : row - 1)->name);
}

void Scheme::Offsets(std::string_view key, uint64_t* offsets) const {
  switch (row->kind) {
    case SchemeKind::kLocal: {  // docs/format.md, the first round
      const uint64_t hash = Hash64(key);
      const uint64_t first =
          kBlockBits * local::BlockOf(hash, bits / kBlockBits);
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = first + local::BitOf(hash, 0, i);
      }
      return;
    }
    case SchemeKind::kGoMurmur3: {
      const Murmur3 hash(key);
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = GoMurmur3Offset(hash, static_cast<uint8_t>(i), bits);
      }
      return;
    }
    case SchemeKind::kGuavaHelper: {
      std::string twice;
      if (doubled_string) key = twice.append(key).append(key);
      const Murmur3Hash hash = Murmur3(key).Finish();
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = GuavaMitz32Offset(hash, i, bits);
      }
      return;
    }
    case SchemeKind::kPhpNamedHashes:
      for (uint32_t i = 0; i < probes; ++i) offsets[i] = hash_functions[i](key);
      return;
  }
}

std::string Scheme::Validate() {
  hash_functions.clear();
  for (const std::string& hash : hashes) {
    hash_functions.push_back(FindPhpHash(hash));
    if (hash_functions.back() == nullptr) {
      return "hashes has '" + hash + "': known are " + NamesOf(kHashes);
    }
  }
  if (probes == 0 || probes > row->most_probes) {
    return "probes is " + std::to_string(probes) + ": with scheme " + Name() +
           " it must be 1 to " + std::to_string(row->most_probes);
  }
  if (bits < row->least || bits > row->most || bits % row->multiple_of != 0) {
    return "bits is " + std::to_string(bits) + ": with scheme " + Name() +
           " it must be " + row->legal;
  }
  if (row->kind == SchemeKind::kPhpNamedHashes && hashes.size() != probes) {
    return "probes is " + std::to_string(probes) + ", and there are " +
           std::to_string(hashes.size()) + " hashes";
  }
  return "";
}

bool Scheme::SetSize(uint64_t keys, double rate) {
  switch (row->kind) {
    case SchemeKind::kLocal: {
      constexpr uint64_t kMostBitsPerKey = 64;
      if (keys > kMaxLocalBits) return false;
      const LocalSize size = SmallestLocalSize(
          keys, rate,
          std::min(kMaxLocalBits, keys * kMostBitsPerKey) / kBlockBits + 1,
          WithMarkers);
      bits = size.blocks * kBlockBits;
      probes = size.probes;
      return bits != 0;
    }
    case SchemeKind::kGoMurmur3: {
      const auto n = static_cast<double>(std::max<uint64_t>(keys, 1));
      probes = row->fixed_probes != 0 ? row->fixed_probes
                                      : SizeForRate(keys, rate).probes;
      const double size = std::ceil(BloomBits(n, rate, probes));
      if (!(size <= static_cast<double>(kMaxRedisOffset))) return false;
      bits = std::max<uint64_t>(static_cast<uint64_t>(size), 64);
      return true;
    }
    case SchemeKind::kGuavaHelper: {  // Guava's formulas, for sizes of an int
      GuavaFilterOptions options;
      options.expected_insertions = keys;
      bits = std::min(GuavaBits(keys, rate), kMaxJavaInt);
      probes = GuavaHashFunctions(options, bits);
      return bits > 0 && probes <= kMaxProbes;
    }
    case SchemeKind::kPhpNamedHashes:
      bits = kPhpBits;
      probes = static_cast<uint32_t>(hashes.size());
      return true;
  }
  return false;
}

double Scheme::KeysOfOccupancy(double occupancy) const {
  const auto m = static_cast<double>(bits);
  if (occupancy >= 1) return std::numeric_limits<double>::infinity();
  return KeysFromSetBits(m, occupancy * m, probes);
}

double Scheme::RateOfOccupancy(double occupancy) const {
  if (!is_local()) return std::pow(occupancy, probes);
  if (occupancy >= 1) return 1;
  const auto keys = static_cast<uint64_t>(llround(KeysOfOccupancy(occupancy)));
  return WithMarkers(local::RateOfProbes(probes, 0)(keys, bits / kBlockBits),
                     probes);
}

}  // namespace deltabloom::internal
