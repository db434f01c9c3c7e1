#include "tools/deltabloom/expected_rate.h"

#include "table/framing.h"
#include "util/layouts/layout.h"
#include "util/rates/rates.h"

namespace deltabloom::tools {
namespace {

using internal::FilterKind;
using internal::ParsedFilter;

// Of a filter that was parsed.
std::optional<double> RateOf(const ParsedFilter& parsed, uint8_t last_byte,
                             Hash hash, uint64_t keys) {
  const internal::LayoutRow* row =
      internal::FindLayoutOfLastByte(last_byte, hash);
  if (row == nullptr) return std::nullopt;
  return keys == 0 ? 0 : row->rate(parsed.shape, keys);
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
  return keys == 0 ? std::nullopt : internal::RocksDBFilterRate(filter, keys);
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
