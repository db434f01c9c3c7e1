#include "util/layouts/local/row.h"

#include "util/hash64.h"
#include "util/layouts/local/build.h"
#include "util/layouts/local/estimate.h"
#include "util/layouts/local/kernels.h"
#include "util/layouts/local/rate.h"
#include "util/layouts/local/shape.h"

namespace deltabloom::internal::local {
namespace {

bool Parse(uint8_t last_byte, Cpu cpu, ParsedFilter* parsed) {
  Shape shape;
  if (!ShapeOf(last_byte, parsed->payload_size, &shape)) return false;
  parsed->shape.Set(shape);
  SetLookup(KernelsOf(cpu).lookup[shape.second == 0 ? 0 : 1], parsed);
  return true;
}

std::string Describe(const ParsedFilter& parsed) {
  const Shape& shape = parsed.shape.As<Shape>();
  std::string probes = std::to_string(shape.first);
  if (shape.second != 0) probes += " + " + std::to_string(shape.second);
  return "local, " + probes + " probes, " + std::to_string(shape.blocks) +
         " blocks of 64 bytes";
}

constexpr LayoutRow MakeRow() {
  LayoutRow row{};
  row.layout = Layout::kLocal;
  row.classic_hash = Hash::kMurmurHash2;
  row.name = "local";
  row.first_marker = kFirstMarker;
  row.last_marker = kLastMarker;
  row.hash_size = sizeof(uint64_t);
  row.many_keys = 0;
  row.fallback = nullptr;
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

}  // namespace deltabloom::internal::local
