#include "util/layouts/classic/row.h"

#include "util/layouts/classic/build.h"
#include "util/layouts/classic/estimate.h"
#include "util/layouts/classic/kernels.h"
#include "util/layouts/classic/rate.h"
#include "util/layouts/classic/shape.h"

namespace deltabloom::internal::classic {
namespace {

template <Hash kHash>
bool Parse(uint8_t last_byte, Cpu cpu, ParsedFilter* parsed) {
  if (last_byte > kMaxProbes || parsed->payload_size == 0) return false;
  parsed->shape.Set(MakeShape(parsed->payload_size, last_byte));
  if (last_byte == 0) {
    SetAlwaysMatch(parsed);
  } else {
    SetLookup(KernelsOf(kHash, cpu).lookup[last_byte], parsed);
  }
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  return "classic, " + std::to_string(shape.probes) + " probes, " +
         std::to_string(shape.bits) + " bits";
}

template <Hash kHash>
constexpr LayoutRow MakeRow(const char* name) {
  LayoutRow row{};
  row.layout = Layout::kClassic;
  row.classic_hash = kHash;
  row.name = name;
  row.first_marker = 0;
  row.last_marker = kMaxProbes;
  row.hash_size = sizeof(uint32_t);
  row.many_keys = 20'000'000;
  row.fallback = nullptr;
  row.hash = [](std::string_view key) { return uint64_t{HashKey(kHash, key)}; };
  row.plan = kHash == Hash::kLevelDB ? PlanLevelDBHash : PlanMurmurHash2;
  row.grow = Grow;
  row.build = Build;
  row.parse = Parse<kHash>;
  row.may_match_hash = MayMatchHash;
  row.rate = Rate;
  row.estimate = EstimateFilter;
  row.describe = Describe;
  return row;
}

}  // namespace

const LayoutRow kMurmurHash2Row = MakeRow<Hash::kMurmurHash2>("classic");
const LayoutRow kLevelDBHashRow = MakeRow<Hash::kLevelDB>("classic-leveldb");

}  // namespace deltabloom::internal::classic
