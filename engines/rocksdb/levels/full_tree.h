// The tree that a column family has once its upper levels are full: what the
// bits per key of its tables are planned for.
//
// The last run is the level with the most keys, together with the levels below
// it. It is planned as it is. The levels above it are planned as full as
// compactions let them become, so a table's bits do not depend on how full they
// happen to be.
#pragma once

#include <map>

namespace deltabloom::internal {

// The sizes up to which compactions let the levels grow, as far as they are
// known.
struct TreeLimits {
  double level0_files = 0;  // that start a compaction; 0: unknown
  double base = 0;          // keys, or bytes, of the first level below it
  double ratio = 0;         // of a level to the one above
  bool dynamic = false;     // levels are sized from the last one upwards
  bool kept = true;         // by automatic leveled compactions
  bool filters = true;      // the column family has a filter policy

  bool Known() const {
    return kept && level0_files > 0 && base > 0 && ratio >= 1;
  }
};

// The runs of a level: one, or the files of level 0.
struct LevelRuns {
  double runs = 0;
  double keys = 0;  // of all of them

  double KeysOfOne() const { return runs > 0 ? keys / runs : 0; }
};

struct FullTree {
  int last_level = 0;  // 0: all keys are in level 0
  std::map<int, LevelRuns> levels;

  // Levels below the last one count with it.
  int PlannedLevel(int level) const {
    return last_level > 0 && level > last_level ? last_level : level;
  }
};

// The level with the most keys, level 0 aside; 0 if there is no other.
int LastLevel(const std::map<int, LevelRuns>& levels);

// Levels whose limits are unknown are planned as they are.
FullTree PlanFullTree(const std::map<int, LevelRuns>& now,
                      const TreeLimits& limits, double flush_keys);

}  // namespace deltabloom::internal
