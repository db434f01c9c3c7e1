#include "engines/rocksdb/levels/levels_json.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "engines/rocksdb/levels/level_bits.h"
#include "engines/rocksdb/levels/trees.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::internal {
namespace {

// Names are bytes: what is not ASCII text is escaped one by one, as if it were
// Latin-1.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", byte);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// Without a locale's comma.
std::string Number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  for (char& c : text) {
    if (c == ',') c = '.';
  }
  return text;
}

// `items` with commas between them.
std::string Array(const std::vector<std::string>& items) {
  std::string array = "[";
  for (const std::string& item : items) {
    if (array.size() > 1) array += ',';
    array += item;
  }
  return array + ']';
}

std::string RunJson(const TreeRun& run, const RateCurve& curve, double* rates) {
  const double bits = run.keys > 0 ? run.filter_bits / run.keys : 0;
  const double rate = run.keys > 0 ? curve.At(bits).rate : 0;
  *rates += rate;
  return "{\"level\":" + std::to_string(run.level) +
         ",\"files\":" + std::to_string(run.files) +
         ",\"keys\":" + Number(run.keys, 17) +
         ",\"bits_per_key\":" + Number(bits, 5) +
         ",\"rate\":" + Number(rate, 4) + "}";
}

std::string WriteJson(const char* as, const LevelBits& bits) {
  return std::string("{\"as\":\"") + as +
         "\",\"bits_per_key\":" + Number(bits.millibits_per_key / 1000.0, 6) +
         ",\"layout\":" + Quoted(bits.layout->name) + "}";
}

// What tables would get that are written now: flushes, tables of each level
// that is not empty, and tables that have no older data below them.
std::string WritesJson(const FamilyTree& family,
                       const std::vector<TreeRun>& runs) {
  std::vector<std::string> writes;
  const auto add = [&](const std::string& as, const NewTable& table) {
    writes.push_back(
        WriteJson(as.c_str(), BitsOf(family.bits, table, family.layout)));
  };
  add("flush", NewTable());
  int deepest = 0;
  for (const TreeRun& run : runs) {
    if (run.level > 0) deepest = run.level;
  }
  for (const TreeRun& run : runs) {
    if (run.level == 0 || run.level == deepest) continue;
    NewTable table;
    table.level = run.level;
    add("level " + std::to_string(run.level), table);
  }
  NewTable last;
  last.level = deepest;
  last.bottommost = true;
  add("last run", last);
  return Array(writes);
}

std::string FamilyJson(const std::string& name, const FamilyTree& family) {
  const std::vector<TreeRun> runs = family.bits.Runs();
  const bool levels = family.asked >= kMinBitsPerKey;
  const LayoutCurve& curve = CurveOf(family.layout);
  double rates = 0;
  double keys = 0;
  double bits = 0;
  std::vector<std::string> run_texts;
  std::vector<SortedRun> sorted;
  for (const TreeRun& run : runs) {
    run_texts.push_back(RunJson(run, curve.curve, &rates));
    sorted.push_back({run.keys, 1});
    keys += run.keys;
    bits += run.filter_bits;
  }
  std::string json = "{\"name\":" + Quoted(name) +
                     ",\"allocation\":" + (levels ? "\"levels\"" : "null");
  if (levels) {
    const double average = keys > 0 ? bits / keys : 0;
    json +=
        ",\"layout\":" + Quoted(LayoutName(family.layout)) +
        ",\"bits_per_key\":{\"asked\":" + Number(family.asked, 6) +
        ",\"on_disk\":" + Number(average, 6) +
        "},\"false_positives_per_lookup\":{\"expected\":" + Number(rates, 4) +
        ",\"best\":" +
        Number(AllocateBits(curve.curve, sorted, average).rates, 4) +
        ",\"uniform\":" +
        Number(UniformBits(curve.curve, sorted, average).rates, 4) +
        "},\"writes\":" + WritesJson(family, runs);
  }
  return json + ",\"runs\":" + Array(run_texts) + "}";
}

}  // namespace

std::string LevelsJson() {
  std::vector<std::string> databases;
  for (const auto& [name, trees] : AllTrees()) {
    const std::lock_guard<std::mutex> lock(trees->mutex);
    TakeSilentChanges(trees.get());
    std::vector<std::string> families;
    for (const auto& [family_name, family] : trees->families) {
      families.push_back(FamilyJson(family_name, family));
    }
    databases.push_back("{\"path\":" + Quoted(name) +
                        ",\"column_families\":" + Array(families) + "}");
  }
  return "{\"databases\":" + Array(databases) + "}";
}

}  // namespace deltabloom::internal
