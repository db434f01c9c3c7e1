// Prints the trees of a process as JSON and for Prometheus.
#include <mutex>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/base/prometheus.h"
#include "engines/rocksdb/levels/filter_memory.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "engines/rocksdb/levels/trees.h"
#include "util/json.h"
#include "util/layouts/layout.h"
#include "util/rates/allocation.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

void WriteFamily(const std::string& name, const FamilyTree& family,
                 JsonWriter* json) {
  const std::vector<TreeRun> runs = family.tree.Runs(family.target);
  const RateCurve& curve = CurveOf(family.layout).curve;
  const auto rate_of = [&curve](const TreeRun& run) {
    return run.keys > 0 ? curve.At(run.filter_bits / run.keys).rate : 0;
  };
  std::vector<SortedRun> sorted;
  double expected = 0;
  for (const TreeRun& run : runs) {
    sorted.push_back({run.keys, 1});
    expected += rate_of(run);
  }
  json->BeginObject().Key("name").String(name).Key("allocation");
  if (family.target >= kMinBitsPerKey) {
    const double average = family.tree.AverageBits();
    json->String("levels").Key("layout").String(LayoutName(family.layout));
    json->Key("bits_per_key").BeginObject();
    json->Key("planned").Number(family.target, 6);
    json->Key("on_disk").Number(average, 6).EndObject();
    json->Key("false_positives_per_lookup").BeginObject();
    json->Key("expected").Number(expected, 4);
    json->Key("best").Number(AllocateBits(curve, sorted, average).rates, 4);
    json->Key("uniform").Number(UniformBits(curve, sorted, average).rates, 4);
    json->EndObject().Key("writes").BeginArray();
    for (const auto& [origin, last] : family.given) {
      json->BeginObject().Key("as").String(NameOfOrigin(origin));
      json->Key("bits_per_key").Number(last.bits_per_key, 6);
      if (!family.use.use().empty()) {
        json->Key("without_use").Number(last.without_use, 6);
      }
      json->Key("layout").String(last.layout).EndObject();
    }
    json->EndArray().Key("lookups_of_absent_keys").BeginObject();
    for (const auto& [origin, share] : family.use.use()) {
      json->Key(NameOfOrigin(origin)).Number(share, 4);
    }
    json->EndObject();
  } else {
    json->Literal("null");
  }
  json->Key("runs").BeginArray();
  for (const TreeRun& run : runs) {
    json->BeginObject().Key("level").Literal(std::to_string(run.level));
    json->Key("files").Number(run.files).Key("keys").Number(run.keys, 17);
    json->Key("bits_per_key")
        .Number(run.keys > 0 ? run.filter_bits / run.keys : 0, 5);
    json->Key("rate").Number(rate_of(run), 4).EndObject();
  }
  json->EndArray().EndObject();
}

}  // namespace
}  // namespace deltabloom::internal

namespace deltabloom {

std::string RocksDBFilterLevelsPrometheus() {
  std::string memory;
  std::string use;
  for (const auto& [name, trees] :
       internal::AllTrees(&internal::TheProcess())) {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    const std::string database = "{database=" + internal::PrometheusLabel(name);
    const std::string metric = "deltabloom_filter_memory_bytes" + database;
    const internal::Memory of = internal::MemoryOf(*trees, 0);
    memory += metric + ",which=\"asked\"} " + std::to_string(of.asked) + "\n" +
              metric + ",which=\"on_disk\"} " +
              std::to_string(internal::FilterBytesOnDisk(*trees)) + "\n";
    for (const auto& [family_name, family] : trees->families) {
      for (const auto& [origin, share] : family.use.use()) {
        use += "deltabloom_absent_lookups_ratio" + database +
               ",column_family=" + internal::PrometheusLabel(family_name) +
               ",written_as=\"" + internal::NameOfOrigin(origin) + "\"} " +
               internal::NumberText(share, 6) + "\n";
      }
    }
  }
  return "# HELP deltabloom_filter_memory_bytes filter_memory, and on disk.\n"
         "# TYPE deltabloom_filter_memory_bytes gauge\n" +
         memory +
         "# HELP deltabloom_absent_lookups_ratio Share of lookups that query a "
         "run for absent keys.\n"
         "# TYPE deltabloom_absent_lookups_ratio gauge\n" +
         use;
}

std::string RocksDBFilterLevelsJson() {
  internal::JsonWriter json;
  json.BeginObject().Key("databases").BeginArray();
  for (const auto& [name, trees] :
       internal::AllTrees(&internal::TheProcess())) {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    json.BeginObject().Key("path").String(name);
    const internal::Memory memory = internal::MemoryOf(*trees, 0);
    json.Key("filter_memory").BeginObject().Key("asked");
    memory.asked == 0 ? json.Literal("null") : json.Number(memory.asked);
    json.Key("on_disk").Number(internal::FilterBytesOnDisk(*trees)).EndObject();
    json.Key("column_families").BeginArray();
    for (const auto& [family_name, family] : trees->families) {
      internal::WriteFamily(family_name, family, &json);
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().text();
}

}  // namespace deltabloom
