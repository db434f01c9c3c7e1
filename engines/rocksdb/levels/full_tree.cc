#include "engines/rocksdb/levels/full_tree.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace deltabloom::internal {

int LastLevel(const std::map<int, LevelRuns>& levels) {
  int last = 0;
  double most = 0;
  for (const auto& [level, of] : levels) {
    if (level == 0 || !(of.keys >= most) || !(of.keys > 0)) continue;
    last = level;
    most = of.keys;
  }
  return last;
}

FullTree PlanFullTree(const std::map<int, LevelRuns>& now,
                      const TreeLimits& limits, double flush_keys) {
  FullTree tree;
  tree.last_level = LastLevel(now);
  const int last = tree.last_level;
  double last_keys = 0;
  for (const auto& [level, of] : now) {
    if (last > 0 && level >= last) {
      last_keys += of.keys;
    } else if (!limits.Known() || last == 0) {
      tree.levels[level] = of;
    }
  }
  if (last == 0) return tree;
  tree.levels[last] = {1, last_keys};
  if (!limits.Known()) return tree;

  // Level 0 is emptied whenever it is full, so it is half full on average. If
  // it were planned full, lookups would have 1.20 times as many false positives
  // (docs/measurements.md).
  const double flushes = limits.level0_files / 2;
  tree.levels[0] = {flushes, flushes * flush_keys};
  for (int level = 1; level < last; ++level) {
    if (limits.dynamic) {
      const double full = last_keys * std::pow(limits.ratio, level - last);
      // RocksDB leaves the levels above the base level empty. The base level is
      // the one that is larger than base / ratio and not larger than base.
      if (full > limits.base / limits.ratio) tree.levels[level] = {1, full};
    } else {
      const double full = limits.base * std::pow(limits.ratio, level - 1);
      tree.levels[level] = {1, std::min(full, last_keys)};
    }
  }
  return tree;
}

}  // namespace deltabloom::internal
