#include "tools/deltabloom/expected_rate.h"

#include <algorithm>
#include <cmath>

#include "table/framing.h"
#include "util/layouts/layout.h"
#include "util/rates/false_positive.h"

namespace deltabloom::tools {
namespace {

using internal::FilterKind;
using internal::ParsedFilter;

// Each key falls on a block with equal chance; one in `narrow` of them has a
// bit less to compare.
double ColumnsRate(uint64_t blocks, uint64_t narrow, unsigned columns) {
  const double share =
      static_cast<double>(narrow) / static_cast<double>(blocks);
  return std::ldexp(1 + share, -static_cast<int>(columns));
}

// Of a filter that was parsed.
std::optional<double> RateOf(const ParsedFilter& parsed, uint8_t last_byte,
                             Hash hash, uint64_t keys) {
  const internal::LayoutRow* row =
      internal::FindLayoutOfLastByte(last_byte, hash);
  if (row == nullptr) return std::nullopt;
  return keys == 0 ? 0 : row->rate(parsed.shape, keys);
}

// The rate of a block of 512 bits with j keys, over all j: the keys of a block
// follow Poisson's law.
double BlockedBloomRate(uint64_t keys, double blocks, unsigned probes) {
  const double mean = static_cast<double>(keys) / blocks;
  const double spread = 12 * std::sqrt(mean) + 12;
  double rate = 0;
  for (double j = std::max(0.0, std::floor(mean - spread)); j <= mean + spread;
       ++j) {
    const double chance =
        std::exp(j * std::log(mean) - mean - std::lgamma(j + 1));
    rate += chance * internal::BloomRateFinite(512, j, probes);
  }
  return std::min(rate, 1.0);
}

// RocksDB's own, by the five bytes at its end
// (table/block_based/filter_policy.cc there).
std::optional<double> RocksDBRate(std::string_view filter, uint64_t keys) {
  constexpr size_t kTrailer = 5;
  if (filter.size() <= kTrailer) return 0;
  const auto byte = [end = filter.data() + filter.size()](int from_end) {
    return static_cast<unsigned char>(end[-from_end]);
  };
  const size_t payload = filter.size() - kTrailer;
  if (byte(5) == 0) return 1;
  if (byte(5) == 0xff && byte(4) == 0 && byte(3) >> 5 == 0 &&
      payload % 64 == 0 && (byte(3) & 31) > 0) {
    return BlockedBloomRate(keys, static_cast<double>(payload / 64),
                            byte(3) & 31);
  }
  const uint64_t blocks = byte(3) | uint64_t{byte(2)} << 8 |
                          uint64_t{byte(1)} << 16;  // of 128 starts
  const uint64_t segments = payload / 16;
  if (byte(5) == 0xfe && blocks > 1 && segments >= blocks &&
      segments <= 32 * blocks) {
    const uint64_t columns = (segments + blocks - 1) / blocks;
    return ColumnsRate(blocks, columns * blocks - segments,
                       static_cast<unsigned>(columns));
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> ExpectedRateInRocksDB(std::string_view filter,
                                            uint64_t keys) {
  ParsedFilter parsed;
  internal::HashedKeys hashed;  // whatever they are: the rate is the same
  switch (internal::ParseSealed(filter, internal::ActiveCpu(), &hashed, &parsed,
                                nullptr)) {
    case FilterKind::kFilter:
      return RateOf(parsed, static_cast<uint8_t>(filter.back()),
                    Hash::kMurmurHash2, keys);
    case FilterKind::kEmpty:
      return 0;
    case FilterKind::kAlways:
      return 1;
    case FilterKind::kForeign:
      break;
  }
  return keys == 0 ? std::nullopt : RocksDBRate(filter, keys);
}

std::optional<double> ExpectedRateOfRaw(std::string_view filter, Hash hash,
                                        uint64_t keys) {
  ParsedFilter parsed;
  switch (internal::ParseRaw(filter, hash, internal::ActiveCpu(), &parsed,
                             nullptr)) {
    case FilterKind::kFilter:
      return RateOf(parsed, static_cast<uint8_t>(filter.back()), hash, keys);
    case FilterKind::kEmpty:
      return 0;
    default:
      return 1;
  }
}

}  // namespace deltabloom::tools
