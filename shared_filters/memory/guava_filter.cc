#include "deltabloom/guava_filter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "shared_filters/memory/atomic_bits.h"
#include "shared_filters/memory/murmur3.h"
#include "util/coding.h"
#include "util/json.h"

namespace deltabloom {
namespace internal {

struct GuavaShape {
  GuavaStrategy strategy = GuavaStrategy::kMurmur128Mitz64;
  uint32_t hash_functions = 0;
  uint64_t words = 0;
};

}  // namespace internal

namespace {

using Shape = internal::GuavaShape;

constexpr double kLn2 = 0.69314718055994530942;
constexpr uint64_t kWordBits = internal::AtomicBits::kWordBits;
constexpr size_t kWordSize = 8;
constexpr size_t kHeaderSize = 6;  // strategy, k, count of words
// Java counts the words of a filter in a signed 32-bit number.
constexpr uint64_t kMaxWords = INT32_MAX;

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
           " bytes after the filter, which ends at byte " +
           std::to_string(size);
  }
  return {};
}

constexpr char16_t kReplacement = 0xFFFD;

bool IsHighSurrogate(char16_t unit) { return unit >> 10 == 0xD800 >> 10; }
bool IsLowSurrogate(char16_t unit) { return unit >> 10 == 0xDC00 >> 10; }

void AppendUtf8(char32_t code_point, std::string* to) {
  const auto append = [to](char32_t byte) {
    to->push_back(static_cast<char>(byte));
  };
  if (code_point < 0x80) return append(code_point);
  const unsigned size = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  append((0xF00 >> size & 0xFF) | code_point >> 6 * (size - 1));
  for (unsigned left = size - 1; left > 0; --left) {
    append(0x80 | (code_point >> 6 * (left - 1) & 0x3F));
  }
}

void AppendUtf16(char32_t code_point, std::u16string* to) {
  if (code_point < 0x10000) {
    to->push_back(static_cast<char16_t>(code_point));
    return;
  }
  code_point -= 0x10000;
  to->push_back(static_cast<char16_t>(0xD800 | code_point >> 10));
  to->push_back(static_cast<char16_t>(0xDC00 | (code_point & 0x3FF)));
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
  if (GuavaStrategyName(strategy) == nullptr) {
    return "strategy = " + std::to_string(static_cast<int>(strategy)) +
           " is unknown: use kMurmur128Mitz32 or kMurmur128Mitz64";
  }
  // Written so that NaN fails.
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    return rate + " is out of range: use more than 0 and less than 1";
  }
  if (expected_insertions > INT64_MAX) {
    return keys + " is out of range: Java's long ends at 2^63 - 1";
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
  explicit Rep(const Shape& given) : shape(given) {}

  auto OffsetsOf(std::string_view key) const {
    return [this, hash = internal::Murmur3(key).Finish(),
            is_32 = shape.strategy ==
                    GuavaStrategy::kMurmur128Mitz32](uint32_t probe) {
      return is_32 ? internal::GuavaMitz32Offset(hash, probe, divisor)
                   : internal::GuavaMitz64Offset(hash, probe, divisor);
    };
  }

  const Shape shape;
  internal::AtomicBits bits{shape.words};
  const internal::Divisor divisor{bits.bits()};
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
  return rep_->bits.SetAll(HashFunctions(), rep_->OffsetsOf(key));
}

bool GuavaFilter::MightContain(std::string_view key) const {
  return rep_->bits.GetAll(HashFunctions(), rep_->OffsetsOf(key));
}

uint64_t GuavaFilter::ApproximateElementCount() const {
  const auto bits = static_cast<double>(Bits());
  const auto set = static_cast<double>(rep_->bits.SetBits());
  // The operations have Guava's order, so that the last digits agree.
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

std::string GuavaIntegerFunnel(int32_t value) {
  std::string bytes(sizeof(value), '\0');
  internal::StoreFixed32(bytes.data(), static_cast<uint32_t>(value));
  return bytes;
}

std::string GuavaLongFunnel(int64_t value) {
  std::string bytes(sizeof(value), '\0');
  internal::StoreFixed64(bytes.data(), static_cast<uint64_t>(value));
  return bytes;
}

std::string GuavaStringFunnel(std::u16string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char16_t unit = text[i];
    if (IsHighSurrogate(unit) && i + 1 < text.size() &&
        IsLowSurrogate(text[i + 1])) {
      const char32_t low = text[++i] & char32_t{0x3FF};
      AppendUtf8(0x10000 + ((unit & char32_t{0x3FF}) << 10 | low), &bytes);
    } else if (IsHighSurrogate(unit) || IsLowSurrogate(unit)) {
      bytes.push_back('?');
    } else {
      AppendUtf8(unit, &bytes);
    }
  }
  return bytes;
}

std::string GuavaUnencodedCharsFunnel(std::u16string_view text) {
  std::string bytes;
  bytes.reserve(2 * text.size());
  for (const char16_t unit : text) {
    bytes.push_back(static_cast<char>(unit & 0xFF));
    bytes.push_back(static_cast<char>(unit >> 8));
  }
  return bytes;
}

std::u16string JavaUtf16(std::string_view utf8) {
  std::u16string text;
  text.reserve(utf8.size());
  const auto byte = [utf8](size_t i) {
    return static_cast<unsigned char>(utf8[i]);
  };
  for (size_t i = 0; i < utf8.size();) {
    const unsigned char lead = byte(i);
    // Bytes of a sequence that begins so; 0: none does.
    const unsigned size = lead < 0x80                  ? 1
                          : lead < 0xC2 || lead > 0xF4 ? 0
                          : lead < 0xE0                ? 2
                          : lead < 0xF0                ? 3
                                                       : 4;
    // The range of the second byte. Surrogates pass, as they do in Java until a
    // sequence is whole.
    unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char most = lead == 0xF4 ? 0x8F : 0xBF;
    unsigned whole = 1;
    char32_t code_point = size == 1 ? lead : lead & (0x7Fu >> size);
    while (whole < size && i + whole < utf8.size() &&
           byte(i + whole) >= least && byte(i + whole) <= most) {
      code_point = code_point << 6 | (byte(i + whole) & 0x3Fu);
      ++whole;
      least = 0x80;
      most = 0xBF;
    }
    // A sequence that fits so far and goes no further is one replacement.
    const bool is_surrogate = code_point >> 11 == 0xD800 >> 11;
    AppendUtf16(whole == size && !is_surrogate ? code_point : kReplacement,
                &text);
    i += whole;
  }
  return text;
}

}  // namespace deltabloom
