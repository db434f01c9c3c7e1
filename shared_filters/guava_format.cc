#include "shared_filters/guava_format.h"

#include <algorithm>
#include <cmath>

#include "util/json.h"

namespace deltabloom {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr uint64_t kWordBits = 64;
constexpr size_t kWordSize = 8;

bool IsStrategy(uint8_t ordinal) {
  return ordinal <= static_cast<uint8_t>(GuavaStrategy::kMurmur128Mitz64);
}

uint64_t LoadBigEndian(const char* from, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8 | static_cast<unsigned char>(from[i]);
  }
  return value;
}

void StoreBigEndian(uint64_t value, size_t size, char* to) {
  for (size_t i = 0; i < size; ++i) {
    to[i] = static_cast<char>(value >> 8 * (size - 1 - i));
  }
}

}  // namespace

const char* GuavaStrategyName(GuavaStrategy strategy) {
  switch (strategy) {
    case GuavaStrategy::kMurmur128Mitz32:
      return "MURMUR128_MITZ_32";
    case GuavaStrategy::kMurmur128Mitz64:
      return "MURMUR128_MITZ_64";
  }
  return nullptr;
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
  if (bits > internal::kMaxGuavaWords * kWordBits) {
    return keys + " at " + rate + " needs " + std::to_string(bits) +
           " bits: Guava has at most 2^31 - 1 words of 64 bits; use a higher "
           "rate, or several filters";
  }
  if (internal::GuavaHashFunctions(*this, bits) >
      internal::kMaxGuavaHashFunctions) {
    return rate + " needs " +
           std::to_string(internal::GuavaHashFunctions(*this, bits)) +
           " hash functions, and Guava has at most 255: use a higher rate";
  }
  return {};
}

namespace internal {

uint64_t GuavaBits(uint64_t insertions, double rate) {
  const double n = static_cast<double>(std::max<uint64_t>(insertions, 1));
  const double bits = -n * std::log(rate) / (kLn2 * kLn2);
  constexpr double kTooMany = 9223372036854775808.0;  // 2^63
  if (bits >= kTooMany) return INT64_MAX;
  return static_cast<uint64_t>(bits);
}

uint32_t GuavaHashFunctions(const GuavaFilterOptions& options, uint64_t bits) {
  const uint64_t insertions =
      std::max<uint64_t>(options.expected_insertions, 1);
  const double k =
      options.probe_rule == GuavaProbeRule::kFromSize
          ? static_cast<double>(bits) / static_cast<double>(insertions) * kLn2
          : -std::log(options.false_positive_rate) / kLn2;
  return static_cast<uint32_t>(std::max<long long>(1, std::llround(k)));
}

GuavaShape GuavaShapeOf(const GuavaFilterOptions& options) {
  const uint64_t bits =
      GuavaBits(options.expected_insertions, options.false_positive_rate);
  return {options.strategy, GuavaHashFunctions(options, bits),
          (bits + kWordBits - 1) / kWordBits};
}

std::string DescribeGuava(const GuavaShape& shape) {
  return std::string(GuavaStrategyName(shape.strategy)) + ", " +
         std::to_string(shape.hash_functions) + " hash functions, " +
         std::to_string(shape.words * kWordBits) + " bits";
}

void AppendGuavaHeader(const GuavaShape& shape, std::string* dst) {
  char header[kGuavaHeaderSize];
  header[0] = static_cast<char>(shape.strategy);
  header[1] = static_cast<char>(shape.hash_functions);
  StoreBigEndian(shape.words, 4, header + 2);
  dst->append(header, kGuavaHeaderSize);
}

std::string ParseGuavaHeader(std::string_view bytes, GuavaShape* shape) {
  if (bytes.size() < kGuavaHeaderSize) {
    return "truncated: " + std::to_string(bytes.size()) +
           " bytes, and the header alone has 6";
  }
  const auto strategy = static_cast<uint8_t>(bytes[0]);
  if (!IsStrategy(strategy)) {
    return "byte 0: strategy " + std::to_string(strategy) +
           " is unknown; Guava has 0 (MURMUR128_MITZ_32) and 1 "
           "(MURMUR128_MITZ_64)";
  }
  shape->strategy = static_cast<GuavaStrategy>(strategy);
  shape->hash_functions = static_cast<uint8_t>(bytes[1]);
  if (shape->hash_functions == 0) return "byte 1: 0 hash functions";
  shape->words = LoadBigEndian(bytes.data() + 2, 4);
  if (shape->words == 0) return "bytes 2 to 5: 0 words";
  if (shape->words > kMaxGuavaWords) {
    return "bytes 2 to 5: a negative count of words, " +
           std::to_string(static_cast<int64_t>(shape->words) -
                          (int64_t{1} << 32));
  }
  const uint64_t size = kGuavaHeaderSize + shape->words * kWordSize;
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

uint64_t GuavaWord(std::string_view bytes, uint64_t i) {
  return LoadBigEndian(bytes.data() + kGuavaHeaderSize + i * kWordSize,
                       kWordSize);
}

void StoreGuavaWord(char* first_word, uint64_t i, uint64_t word) {
  StoreBigEndian(word, kWordSize, first_word + i * kWordSize);
}

}  // namespace internal
}  // namespace deltabloom
