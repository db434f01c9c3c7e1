#include <cmath>

#include "shared_filters/redis/scheme.h"

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

struct Named {
  std::string_view name;
  PhpHash hash;
};
constexpr Named kHashes[] = {{"JS", Js},     {"PJW", Pjw},   {"ELF", Elf},
                             {"BKDR", Bkdr}, {"SDBM", Sdbm}, {"DJB", Djb},
                             {"DEK", Dek},   {"FNV", Fnv}};

}  // namespace

PhpHash FindPhpHash(std::string_view name) {
  constexpr std::string_view kEnding = "Hash";
  if (name.size() > kEnding.size() &&
      name.substr(name.size() - kEnding.size()) == kEnding) {
    name.remove_suffix(kEnding.size());
  }
  for (const Named& one : kHashes) {
    if (one.name == name) return one.hash;
  }
  return nullptr;
}

std::string PhpHashNames() { return NamesOf(kHashes); }

}  // namespace deltabloom::internal
