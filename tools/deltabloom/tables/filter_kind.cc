#include "tools/deltabloom/tables/filter_kind.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deltabloom/filter.h"
#include "table/framing.h"
#include "util/cpu.h"
#include "util/layouts/layout.h"
#include "util/parsed_filter.h"
#include "util/rates/rates.h"

namespace deltabloom::tools {
namespace {

// RocksDB's own filters, which the five bytes at the end distinguish
// (table/block_based/filter_policy.cc there).
std::string DescribeRocksDBFilter(std::string_view filter) {
  constexpr size_t kTrailerSize = 5;
  if (filter.size() <= kTrailerSize) return "RocksDB, holds no key";
  const auto byte = [end = filter.data() + filter.size()](int from_end) {
    return static_cast<unsigned>(static_cast<unsigned char>(end[-from_end]));
  };
  const std::string bits =
      ", " + std::to_string((filter.size() - kTrailerSize) * 8) + " bits";
  switch (byte(5)) {
    case 0:
      return "RocksDB, always matches";
    case 0xff:
      if (byte(4) != 0 || byte(3) >> 5 != 0) return "RocksDB Bloom, reserved";
      return "RocksDB Bloom, " + std::to_string(byte(3) & 31) + " probes" +
             bits;
    case 0xfe:
      return "RocksDB Ribbon" + bits;
    default:
      if (byte(5) > 127) return "RocksDB, reserved";
      return "RocksDB legacy Bloom, " + std::to_string(byte(5)) + " probes" +
             bits;
  }
}

}  // namespace

std::string DescribeTableFilter(const std::string& policy,
                                std::string_view filter) {
  internal::ParsedFilter parsed;
  internal::HashedKeys keys;
  std::string why;
  const internal::FilterKind kind = internal::ParseSealed(
      filter, internal::ActiveCpu(), &keys, &parsed, &why);
  if (kind != internal::FilterKind::kForeign) {
    const internal::LevelAtCreation made =
        internal::ParseLevelByte(internal::SealedLevel(filter));
    return "Deltabloom " + why +
           (made.level < 0 ? std::string()
                           : ", for level " + std::to_string(made.level)) +
           (made.bottommost ? ", nothing older below" : "");
  }
  if (policy.compare(0, 8, "rocksdb.") == 0) {
    return DescribeRocksDBFilter(filter);
  }
  return "not recognised";
}

std::string KindOfFilter(const std::string& policy, std::string_view filter) {
  const std::string text = DescribeTableFilter(policy, filter);
  return text.substr(0, text.find(','));
}

std::optional<double> RateOfFilter(internal::FilterKind kind,
                                   const internal::ParsedFilter& parsed,
                                   std::string_view filter, Hash hash,
                                   uint64_t keys) {
  if (kind == internal::FilterKind::kEmpty) return 0;
  if (kind == internal::FilterKind::kAlways) return 1;
  if (kind == internal::FilterKind::kForeign) return std::nullopt;
  const internal::LayoutRow* row =
      internal::FindLayoutOfLastByte(static_cast<uint8_t>(filter.back()), hash);
  if (row == nullptr) return std::nullopt;
  return keys == 0 ? 0 : row->rate(parsed.shape, keys);
}

std::optional<double> RateOfSealedFilter(std::string_view filter,
                                         uint64_t keys) {
  internal::ParsedFilter parsed;
  internal::HashedKeys hashed;
  const auto rate =
      RateOfFilter(internal::ParseSealed(filter, internal::ActiveCpu(), &hashed,
                                         &parsed, nullptr),
                   parsed, filter, Hash::kMurmurHash2, keys);
  return rate.has_value() || keys == 0
             ? rate
             : internal::RocksDBFilterRate(filter, keys);
}

}  // namespace deltabloom::tools
