#include "util/layouts/compact/row.h"

#include <cstdio>

#include "util/hash64.h"
#include "util/layouts/compact/build.h"
#include "util/layouts/compact/estimate.h"
#include "util/layouts/compact/kernels.h"
#include "util/layouts/compact/shape.h"
#include "util/layouts/local/row.h"

namespace deltabloom::internal::compact {
namespace {

bool Parse(uint8_t, Cpu cpu, ParsedFilter* parsed) {
  if (parsed->payload_size < kSizesBytes) return false;
  const Sizes sizes =
      LoadSizes(parsed->payload + parsed->payload_size - kSizesBytes);
  Shape shape;
  if (!ShapeOf(sizes, parsed->payload_size, &shape)) return false;
  parsed->shape.Set(shape);
  SetLookup(KernelsOf(cpu).lookup[shape.columns - 1], parsed);
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  char columns[32];
  std::snprintf(
      columns, sizeof(columns), "%.2f",
      static_cast<double>(shape.words()) / static_cast<double>(shape.blocks()));
  return std::string("compact, ") + columns + " columns, " +
         std::to_string(shape.blocks() * kBlockRows) + " rows, " +
         std::to_string(shape.layers) + " layers";
}

constexpr LayoutRow MakeRow() {
  LayoutRow row{};
  row.layout = Layout::kCompact;
  row.classic_hash = Hash::kMurmurHash2;
  row.name = "compact";
  row.first_marker = kMarker;
  row.last_marker = kMarker;
  row.hash_size = sizeof(uint64_t);
  row.many_keys = 0;
  row.fallback = &local::kRow;
  row.hash = [](std::string_view key) { return Hash64(key); };
  row.plan = MakePlan;
  row.grow = Grow;
  row.build = Build;
  row.parse = Parse;
  row.may_match_hash = MayMatchHash;
  row.rate = Rate;
  row.estimate = EstimateFilter;
  row.describe = Describe;
  return row;
}

}  // namespace

const LayoutRow kRow = MakeRow();

}  // namespace deltabloom::internal::compact
