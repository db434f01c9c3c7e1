// The tree of a real database and the filters in it, as RocksDB itself shows
// them: what allocation=levels is held against.
#ifndef DELTABLOOM_TESTS_ROCKSDB_TREE_H_
#define DELTABLOOM_TESTS_ROCKSDB_TREE_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/rocksdb/test_db.h"
#include "util/rates/allocation.h"
#include "util/rates/layout_rates.h"

namespace deltabloom::testing {

struct MeasuredTree {
  std::string text;  // one line per run
  size_t runs = 0;
  double keys = 0;
  double bits = 0;          // per key, on disk
  double payload_bits = 0;  // of these, what answers
  double rates = 0;  // summed over the runs of a lookup, from each file's bits
  double best = 0;   // the least that so many bits could have on this tree
  double uniform = 0;  // with the same bits for each file

  double Gain() const { return uniform / rates; }
  double BestGain() const { return uniform / best; }
};

inline MeasuredTree Measure(rocksdb::DB* db,
                            rocksdb::ColumnFamilyHandle* handle,
                            Layout layout) {
  const internal::RateCurve& curve = internal::CurveOf(layout).curve;
  rocksdb::TablePropertiesCollection tables;
  EXPECT_TRUE(db->GetPropertiesOfAllTables(handle, &tables).ok());
  std::map<uint64_t, std::shared_ptr<const rocksdb::TableProperties>> by_number;
  for (const auto& [path, properties] : tables) {
    const std::string name = path.substr(path.rfind('/') + 1);
    by_number[std::strtoull(name.c_str(), nullptr, 10)] = properties;
  }
  rocksdb::ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(handle, &metadata);
  MeasuredTree tree;
  std::vector<internal::SortedRun> runs;
  double bits = 0;
  double payload = 0;
  constexpr double kFraming = 8 * 16;
  const auto add_run = [&](int level, size_t files, double keys,
                           double run_bits, double rate) {
    if (keys == 0) return;
    runs.push_back({keys, 1});
    tree.rates += rate;
    tree.keys += keys;
    bits += run_bits;
    char line[128];
    std::snprintf(line, sizeof(line),
                  "  level %d: %4zu files %9.0f keys %6.2f bits %.6f\n", level,
                  files, keys, run_bits / keys, rate);
    tree.text += line;
  };
  for (const auto& level : metadata.levels) {
    double keys = 0;
    double level_bits = 0;
    double rate = 0;
    for (const auto& file : level.files) {
      const auto it = by_number.find(file.file_number);
      if (it == by_number.end()) continue;
      const auto& properties = *it->second;
      const auto n = static_cast<double>(properties.num_filter_entries > 0
                                             ? properties.num_filter_entries
                                             : properties.num_entries);
      const double filter = 8 * static_cast<double>(properties.filter_size);
      const double file_rate = curve.At((filter - kFraming) / n).rate;
      if (level.level == 0) {
        add_run(0, 1, n, filter, file_rate);
        payload += filter - kFraming;
      } else {
        keys += n;
        level_bits += filter;
        payload += filter - kFraming;
        rate += n * file_rate;
      }
    }
    if (level.level > 0 && keys > 0) {
      add_run(level.level, level.files.size(), keys, level_bits, rate / keys);
    }
  }
  tree.runs = runs.size();
  tree.bits = tree.keys > 0 ? bits / tree.keys : 0;
  tree.payload_bits = tree.keys > 0 ? payload / tree.keys : 0;
  tree.best = internal::AllocateBits(curve, runs, tree.payload_bits).rates;
  tree.uniform = internal::UniformBits(curve, runs, tree.payload_bits).rates;
  char line[160];
  std::snprintf(line, sizeof(line),
                "  %.0f keys, %.3f bits on disk; rates: %.6f, best %.6f, "
                "uniform %.6f: gain %.2f of %.2f\n",
                tree.keys, tree.bits, tree.rates, tree.best, tree.uniform,
                tree.Gain(), tree.BestGain());
  tree.text += line;
  return tree;
}

}  // namespace deltabloom::testing

#endif  // DELTABLOOM_TESTS_ROCKSDB_TREE_H_
