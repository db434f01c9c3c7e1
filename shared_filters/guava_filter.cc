#include "deltabloom/guava_filter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "shared_filters/atomic_bits.h"
#include "shared_filters/murmur3.h"
#include "util/coding.h"
#include "util/json.h"

namespace deltabloom {

using internal::AtomicBits;

namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr uint64_t kWordBits = AtomicBits::kWordBits;
constexpr size_t kWordSize = 8;
// Strategy, k, count of words.
constexpr size_t kHeaderSize = 6;
// Java counts the words of a filter in a signed 32-bit number.
constexpr uint64_t kMaxWords = INT32_MAX;

struct Shape {
  GuavaStrategy strategy = GuavaStrategy::kMurmur128Mitz64;
  uint32_t hash_functions = 0;
  uint64_t words = 0;
};

// "MURMUR128_MITZ_64, 5 hash functions, 7296 bits"
std::string Describe(const Shape& shape) {
  return std::string(GuavaStrategyName(shape.strategy)) + ", " +
         std::to_string(shape.hash_functions) + " hash functions, " +
         std::to_string(shape.words * kWordBits) + " bits";
}

// The header of `bytes`, and whether as many words follow as it says. Empty, or
// one line that says what is wrong.
std::string ParseHeader(std::string_view bytes, Shape* shape) {
  if (bytes.size() < kHeaderSize) {
    return "truncated: " + std::to_string(bytes.size()) +
           " bytes, and the header alone has 6";
  }
  const auto strategy = static_cast<uint8_t>(bytes[0]);
  shape->strategy = static_cast<GuavaStrategy>(strategy);
  if (GuavaStrategyName(shape->strategy) == nullptr) {
    return "byte 0: strategy " + std::to_string(strategy) +
           " is unknown; Guava has 0 (MURMUR128_MITZ_32) and 1 "
           "(MURMUR128_MITZ_64)";
  }
  shape->hash_functions = static_cast<uint8_t>(bytes[1]);
  if (shape->hash_functions == 0) return "byte 1: 0 hash functions";
  shape->words = __builtin_bswap32(internal::LoadFixed32(bytes.data() + 2));
  if (shape->words == 0) return "bytes 2 to 5: 0 words";
  if (shape->words > kMaxWords) {
    return "bytes 2 to 5: a negative count of words, " +
           std::to_string(static_cast<int64_t>(shape->words) -
                          (int64_t{1} << 32));
  }
  const uint64_t size = kHeaderSize + shape->words * kWordSize;
  if (bytes.size() < size) {
    return "truncated: " + std::to_string(bytes.size()) + " bytes of " +
           std::to_string(size);
  }
  if (bytes.size() > size) {
    return std::to_string(bytes.size() - size) +
           " bytes behind the filter, which ends after " + std::to_string(size);
  }
  return {};
}

}  // namespace

const char* GuavaStrategyName(GuavaStrategy strategy) {
  constexpr const char* kNames[] = {"MURMUR128_MITZ_32", "MURMUR128_MITZ_64"};
  const auto i = static_cast<size_t>(strategy);
  return i < std::size(kNames) ? kNames[i] : nullptr;
}

std::string GuavaFilterOptions::Validate() const {
  const std::string rate =
      "false_positive_rate = " + internal::NumberText(false_positive_rate);
  const std::string keys =
      "expected_insertions = " + std::to_string(expected_insertions);
  // Written so that NaN fails.
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    return rate + " is out of range: use more than 0 and less than 1";
  }
  if (expected_insertions > INT64_MAX) {
    return keys + " is out of range: Java's long ends at 2^63 - 1";
  }
  if (GuavaStrategyName(strategy) == nullptr) {
    return "strategy = " + std::to_string(static_cast<int>(strategy)) +
           " is unknown: use MURMUR128_MITZ_32 (0) or MURMUR128_MITZ_64 (1)";
  }
  if (probe_rule != GuavaProbeRule::kFromSize &&
      probe_rule != GuavaProbeRule::kFromRate) {
    return "probe_rule = " + std::to_string(static_cast<int>(probe_rule)) +
           " is unknown: use kFromSize (0) or kFromRate (1)";
  }
  const uint64_t bits =
      internal::GuavaBits(expected_insertions, false_positive_rate);
  if (bits == 0) {
    return keys + " at " + rate +
           " makes a filter of 0 bits, which Guava refuses: use a lower rate";
  }
  if (bits > kMaxWords * kWordBits) {
    return keys + " at " + rate + " needs " + std::to_string(bits) +
           " bits: Guava has at most 2^31 - 1 words of 64 bits; use a higher "
           "rate, or several filters";
  }
  const uint32_t k = internal::GuavaHashFunctions(*this, bits);
  if (k > 255) {
    return rate + " needs " + std::to_string(k) +
           " hash functions, and Guava has at most 255: use a higher rate";
  }
  return {};
}

namespace internal {

uint64_t GuavaBits(uint64_t insertions, double rate) {
  const double n = static_cast<double>(std::max<uint64_t>(insertions, 1));
  const double bits = -n * std::log(rate) / (kLn2 * kLn2);
  return bits < 0x1p63 ? static_cast<uint64_t>(bits) : INT64_MAX;
}

uint32_t GuavaHashFunctions(const GuavaFilterOptions& options, uint64_t bits) {
  const auto n =
      static_cast<double>(std::max<uint64_t>(options.expected_insertions, 1));
  const double k = options.probe_rule == GuavaProbeRule::kFromSize
                       ? static_cast<double>(bits) / n * kLn2
                       : -std::log(options.false_positive_rate) / kLn2;
  return static_cast<uint32_t>(std::max<long long>(1, std::llround(k)));
}

}  // namespace internal

struct GuavaFilter::Rep {
  explicit Rep(const Shape& filter_shape)
      : shape(filter_shape), bits(filter_shape.words), divisor(bits.bits()) {}

  // Calls fn(bit) for each bit of the key while it returns true.
  template <typename Fn>
  void ForEachBit(std::string_view key, Fn fn) const {
    const internal::Murmur3Hash hash = internal::HashMurmur3(key);
    const bool is_32 = shape.strategy == GuavaStrategy::kMurmur128Mitz32;
    for (uint32_t i = 0; i < shape.hash_functions; ++i) {
      if (!fn(is_32 ? internal::GuavaMitz32Offset(hash, i, divisor)
                    : internal::GuavaMitz64Offset(hash, i, divisor))) {
        return;
      }
    }
  }

  const Shape shape;
  AtomicBits bits;
  const internal::Divisor divisor;
};

GuavaFilter::GuavaFilter(const GuavaFilterOptions& options) {
  const std::string error = options.Validate();
  if (!error.empty()) throw std::invalid_argument(error);
  const uint64_t bits = internal::GuavaBits(options.expected_insertions,
                                            options.false_positive_rate);
  rep_ = std::make_unique<Rep>(
      Shape{options.strategy, internal::GuavaHashFunctions(options, bits),
            (bits + kWordBits - 1) / kWordBits});
}

GuavaFilter::GuavaFilter(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

GuavaFilter::~GuavaFilter() = default;

std::unique_ptr<GuavaFilter> GuavaFilter::FromBytes(std::string_view bytes,
                                                    std::string* error) {
  Shape shape;
  const std::string problem = ParseHeader(bytes, &shape);
  if (!problem.empty()) {
    if (error != nullptr) *error = problem;
    return nullptr;
  }
  auto rep = std::make_unique<Rep>(shape);
  for (uint64_t i = 0; i < shape.words; ++i) {
    rep->bits.Or(i, __builtin_bswap64(internal::LoadFixed64(
                        bytes.data() + kHeaderSize + i * kWordSize)));
  }
  return std::unique_ptr<GuavaFilter>(new GuavaFilter(std::move(rep)));
}

bool GuavaFilter::Put(std::string_view key) {
  AtomicBits& bits = rep_->bits;
  bool changed = false;
  rep_->ForEachBit(key, [&](uint64_t bit) {
    changed |= bits.Set(bit);
    return true;
  });
  return changed;
}

bool GuavaFilter::MightContain(std::string_view key) const {
  bool might_contain = true;
  rep_->ForEachBit(key, [&](uint64_t bit) {
    might_contain = rep_->bits.Get(bit);
    return might_contain;
  });
  return might_contain;
}

uint64_t GuavaFilter::ApproximateElementCount() const {
  const auto bits = static_cast<double>(Bits());
  const auto set = static_cast<double>(rep_->bits.SetBits());
  // In the order of Guava's operations, so that the last digits agree.
  const double keys = -std::log1p(-(set / bits)) * bits / HashFunctions();
  return std::isfinite(keys) ? static_cast<uint64_t>(std::llround(keys))
                             : UINT64_MAX;
}

double GuavaFilter::ExpectedFpp() const {
  return std::pow(
      static_cast<double>(rep_->bits.SetBits()) / static_cast<double>(Bits()),
      HashFunctions());
}

bool GuavaFilter::IsCompatible(const GuavaFilter& other) const {
  return this != &other && rep_->shape.strategy == other.rep_->shape.strategy &&
         HashFunctions() == other.HashFunctions() && Bits() == other.Bits();
}

void GuavaFilter::PutAll(const GuavaFilter& other) {
  if (this == &other) {
    throw std::invalid_argument("a filter cannot be put into itself");
  }
  if (!IsCompatible(other)) {
    throw std::invalid_argument("a filter of " + Describe(other.rep_->shape) +
                                " cannot be put into one of " +
                                Describe(rep_->shape));
  }
  for (uint64_t i = 0; i < rep_->bits.words(); ++i) {
    rep_->bits.Or(i, other.rep_->bits.Word(i));
  }
}

void GuavaFilter::AppendTo(std::string* dst) const {
  const Shape& shape = rep_->shape;
  const size_t start = dst->size();
  dst->resize(start + kHeaderSize + shape.words * kWordSize);
  char* const to = &(*dst)[start];
  to[0] = static_cast<char>(shape.strategy);
  to[1] = static_cast<char>(shape.hash_functions);
  internal::StoreFixed32(to + 2,
                         __builtin_bswap32(static_cast<uint32_t>(shape.words)));
  for (uint64_t i = 0; i < shape.words; ++i) {
    internal::StoreFixed64(to + kHeaderSize + i * kWordSize,
                           __builtin_bswap64(rep_->bits.Word(i)));
  }
}

uint64_t GuavaFilter::Bits() const { return rep_->bits.bits(); }
uint32_t GuavaFilter::HashFunctions() const {
  return rep_->shape.hash_functions;
}
GuavaStrategy GuavaFilter::Strategy() const { return rep_->shape.strategy; }

}  // namespace deltabloom
