#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "deltabloom/sizing.h"
#include "shared_filters/murmur3.h"
#include "shared_filters/redis/descriptor.h"
#include "shared_filters/smallest_number.h"
#include "util/hash64.h"
#include "util/layouts/local/local.h"
#include "util/rates/rates.h"

namespace deltabloom::internal {
namespace {

// A number of PHP: an integer of 64 bits, or, where a sum or product does not
// fit one, a double.
class Php {
 public:
  Php(int64_t value) : int_(value) {}  // NOLINT: as in PHP, all numbers mix

  friend Php operator+(Php a, Php b) {
    int64_t sum;
    const bool fits = !__builtin_add_overflow(a.int_, b.int_, &sum);
    return Result(a, b, fits, sum, a.AsDouble() + b.AsDouble());
  }
  friend Php operator-(Php a, Php b) {
    int64_t difference;
    const bool fits = !__builtin_sub_overflow(a.int_, b.int_, &difference);
    return Result(a, b, fits, difference, a.AsDouble() - b.AsDouble());
  }
  friend Php operator*(Php a, Php b) {
    int64_t product;
    const bool fits = !__builtin_mul_overflow(a.int_, b.int_, &product);
    return Result(a, b, fits, product, a.AsDouble() * b.AsDouble());
  }

  // What (int) gives, and what operators on bits and % take: a double beyond
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

 private:
  static Php Result(Php a, Php b, bool fits, int64_t exact, double rounded) {
    Php php(exact);
    php.double_ = rounded;
    php.is_double_ = a.is_double_ || b.is_double_ || !fits;
    return php;
  }
  double AsDouble() const {
    return is_double_ ? double_ : static_cast<double>(int_);
  }

  int64_t int_;
  double double_ = 0;
  bool is_double_ = false;
};

// << drops bits; >> keeps the sign.
int64_t ShiftLeft(int64_t value, unsigned by) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << by);
}

int64_t Ord(char c) { return static_cast<unsigned char>(c); }

constexpr int64_t kModulus = 0xffffffff;

// % keeps the sign of the dividend; then the low 32 bits are taken.
uint32_t Finish(Php hash) {
  return static_cast<uint32_t>(hash.Int() % kModulus & kModulus);
}

uint32_t Js(std::string_view key) {
  int64_t hash = 1315423911;
  for (const char c : key) {
    hash ^= (Php(ShiftLeft(hash, 5)) + Ord(c) + (hash >> 2)).Int();
  }
  return Finish(hash);
}

// Its upper bits are folded once, behind the last byte.
uint32_t Pjw(std::string_view key) {
  constexpr int64_t kHighBits = int64_t{0xffffffff} << 28;
  Php hash(0);
  for (const char c : key) hash = Php(ShiftLeft(hash.Int(), 4)) + Ord(c);
  const int64_t test = hash.Int() & kHighBits;
  if (test != 0) hash = (hash.Int() ^ test >> 24) & ~kHighBits;
  return Finish(hash);
}

uint32_t Elf(std::string_view key) {
  int64_t hash = 0;
  for (const char c : key) {
    const Php sum = Php(ShiftLeft(hash, 4)) + Ord(c);
    const int64_t x = sum.Int() & 0xf0000000;
    hash = sum.Int() ^ x >> 24;
    hash &= ~x;
  }
  return Finish(hash);
}

uint32_t Bkdr(std::string_view key) {
  int64_t hash = 0;
  for (const char c : key) hash = (Php(hash) * 131 + Ord(c)).Int();
  return Finish(hash);
}

uint32_t Sdbm(std::string_view key) {
  int64_t hash = 0;
  for (const char c : key) {
    hash =
        (Php(Ord(c)) + ShiftLeft(hash, 6) + ShiftLeft(hash, 16) - hash).Int();
  }
  return Finish(hash);
}

uint32_t Djb(std::string_view key) {
  Php hash(5381);
  for (const char c : key) {
    hash = Php((Php(ShiftLeft(hash.Int(), 5)) + hash).Int()) + Ord(c);
  }
  return Finish(hash);
}

uint32_t Dek(std::string_view key) {
  auto hash = static_cast<int64_t>(key.size());
  for (const char c : key) hash = (ShiftLeft(hash, 5) ^ hash >> 27) ^ Ord(c);
  return Finish(hash);
}

uint32_t Fnv(std::string_view key) {
  int64_t hash = 2166136261;
  for (const char c : key) {
    hash = (Php(hash) * 16777619).Int() % kModulus;
    hash ^= Ord(c);
  }
  return Finish(hash);
}

struct NamedHash {
  std::string_view name;
  PhpHash hash;
};
constexpr NamedHash kHashes[] = {{"JS", Js},     {"PJW", Pjw},   {"ELF", Elf},
                                 {"BKDR", Bkdr}, {"SDBM", Sdbm}, {"DJB", Djb},
                                 {"DEK", Dek},   {"FNV", Fnv}};

constexpr uint64_t kPhpBits = uint64_t{1} << 32;
constexpr uint64_t kMaxLocalBits = uint64_t{1} << 48;
constexpr uint64_t kMaxJavaInt = INT32_MAX;

struct Named {
  std::string_view name;
  SchemeKind kind;
  uint32_t fixed_probes;
  uint64_t least, most, multiple_of;  // bits
  const char* legal;                  // in words
};
constexpr Named kSchemes[] = {
    {"local", SchemeKind::kLocal, 0, kBlockBits, kMaxLocalBits, kBlockBits,
     "a multiple of 512 from 512 to 2^48"},
    {"go-murmur3", SchemeKind::kGoMurmur3, 0, 1, kMaxRedisOffset, 1,
     "1 to 2^32 - 1"},
    {"go-murmur3-14", SchemeKind::kGoMurmur3, kGoZeroProbes, 1, kMaxRedisOffset,
     1, "1 to 2^32 - 1"},
    {"guava-helper", SchemeKind::kGuavaHelper, 0, 1, kMaxJavaInt, 1,
     "1 to 2^31 - 1"},
    {"php-named-hashes", SchemeKind::kPhpNamedHashes, 0, kPhpBits, kPhpBits, 1,
     "2^32, or 0 for the same"},
};

// The row of a scheme without a number of probes.
const Named& RowOf(SchemeKind kind) {
  return *std::find_if(std::begin(kSchemes), std::end(kSchemes),
                       [kind](const Named& row) { return row.kind == kind; });
}

double WithMarkers(double rate, uint32_t probes) {
  if (rate <= 0) return 0;
  const double share_set = std::pow(rate, 1.0 / probes);
  return rate * (1 + probes / double{kBlockBits} * (1 / share_set - 1));
}

bool SizeLocal(uint64_t keys, double rate, Scheme* scheme) {
  constexpr uint64_t kMaxBitsPerKey = 64;
  if (keys > kMaxLocalBits) return false;
  uint64_t fewest = std::min(kMaxLocalBits, keys * kMaxBitsPerKey) / kBlockBits;
  fewest += 2;
  bool found = false;
  for (uint32_t probes = 1; probes <= kMaxBlockProbes; ++probes) {
    const local::RateOfProbes rate_at({probes, 0});
    const uint64_t blocks = SmallestNumber(1, fewest - 1, [&](uint64_t n) {
      return WithMarkers(rate_at(keys, n), probes) <= rate;
    });
    if (blocks == 0) continue;
    fewest = blocks;
    scheme->probes = probes;
    found = true;
  }
  scheme->bits = fewest * kBlockBits;
  return found;
}

}  // namespace

PhpHash FindPhpHash(std::string_view name) {
  constexpr std::string_view kEnding = "Hash";
  if (name.size() > kEnding.size() &&
      name.substr(name.size() - kEnding.size()) == kEnding) {
    name.remove_suffix(kEnding.size());
  }
  for (const NamedHash& one : kHashes) {
    if (one.name == name) return one.hash;
  }
  return nullptr;
}

std::string PhpHashNames() { return NamesOf(kHashes); }

bool FindScheme(std::string_view name, SchemeKind* kind,
                uint32_t* fixed_probes) {
  for (const Named& one : kSchemes) {
    if (one.name != name) continue;
    *kind = one.kind;
    *fixed_probes = one.fixed_probes;
    return true;
  }
  return false;
}

std::string SchemeNames() { return NamesOf(kSchemes); }

std::string Scheme::Name() const { return std::string(RowOf(kind).name); }

void Scheme::Offsets(std::string_view key, uint64_t* offsets) const {
  switch (kind) {
    case SchemeKind::kLocal: {  // docs/format.md, the first round
      const uint64_t hash = Hash64(key);
      const uint64_t first =
          kBlockBits * local::BlockOf(hash, bits / kBlockBits);
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = first + local::BitOf(hash, 0, local::SectorOf(hash, i));
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
      const Murmur3Hash hash = HashMurmur3(key);
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = GuavaMitz32Offset(hash, i, bits);
      }
      return;
    }
    case SchemeKind::kPhpNamedHashes:
      for (uint32_t i = 0; i < probes; ++i) {
        offsets[i] = hash_functions[i](key);
      }
      return;
  }
}

std::string Scheme::Validate() {
  hash_functions.clear();
  for (const std::string& hash : hashes) {
    hash_functions.push_back(FindPhpHash(hash));
    if (hash_functions.back() == nullptr) {
      return "hashes has '" + hash + "': known are " + PhpHashNames();
    }
  }
  const Named& row = RowOf(kind);
  const uint32_t most = is_local() ? kMaxBlockProbes : kMaxProbes;
  if (probes == 0 || probes > most) {
    return "probes is " + std::to_string(probes) + ": with scheme " + Name() +
           " it must be 1 to " + std::to_string(most);
  }
  if (bits < row.least || bits > row.most || bits % row.multiple_of != 0) {
    return "bits is " + std::to_string(bits) + ": with scheme " + Name() +
           " it must be " + row.legal;
  }
  if (kind == SchemeKind::kPhpNamedHashes && hashes.size() != probes) {
    return "hashes and probes do not fit";
  }
  return "";
}

double RedisLocalRate(uint64_t keys, uint64_t blocks, uint32_t probes) {
  return WithMarkers(local::RateOfProbes({probes, 0})(keys, blocks), probes);
}

bool SizeScheme(uint64_t keys, double rate, uint32_t fixed_probes,
                Scheme* scheme) {
  switch (scheme->kind) {
    case SchemeKind::kLocal:
      return SizeLocal(keys, rate, scheme);
    case SchemeKind::kGoMurmur3: {
      const auto n = static_cast<double>(std::max<uint64_t>(keys, 1));
      scheme->probes =
          fixed_probes != 0 ? fixed_probes : SizeForRate(keys, rate).probes;
      const double bits = std::ceil(BloomBits(n, rate, scheme->probes));
      if (!(bits <= static_cast<double>(kMaxRedisOffset))) return false;
      scheme->bits = std::max<uint64_t>(static_cast<uint64_t>(bits), 64);
      return true;
    }
    case SchemeKind::kGuavaHelper: {  // Guava's formulas, for sizes of an int
      GuavaFilterOptions options;
      options.expected_insertions = keys;
      scheme->bits = std::min(GuavaBits(keys, rate), kMaxJavaInt);
      scheme->probes = GuavaHashFunctions(options, scheme->bits);
      return scheme->bits > 0 && scheme->probes <= kMaxProbes;
    }
    case SchemeKind::kPhpNamedHashes:
      scheme->bits = kPhpBits;
      return true;
  }
  return false;
}

double RateOfOccupancy(const Scheme& scheme, double occupancy) {
  if (!scheme.is_local()) return std::pow(occupancy, scheme.probes);
  if (occupancy >= 1) return 1;
  const double keys = KeysOfOccupancy(scheme, occupancy);
  return RedisLocalRate(static_cast<uint64_t>(std::llround(keys)),
                        scheme.bits / kBlockBits, scheme.probes);
}

double KeysOfOccupancy(const Scheme& scheme, double occupancy) {
  const auto m = static_cast<double>(scheme.bits);
  if (occupancy >= 1) return std::numeric_limits<double>::infinity();
  if (!scheme.is_local()) {
    return KeysFromSetBits(m, occupancy * m, scheme.probes);
  }
  // A clear bit is e^(-load * probes / 512) likely, over Poisson loads.
  return -std::log1p(-occupancy) * m / scheme.probes;
}

}  // namespace deltabloom::internal
