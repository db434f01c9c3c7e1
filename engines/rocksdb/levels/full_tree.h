// The full tree of a column family: the tree that it has once its upper levels
// are full. The bits per key of its tables are planned for it.
//
// The last run is the level with the most keys, together with the levels below
// it. It is planned as it is. The levels above it are planned as full as
// compactions let them become, so a table's bits do not depend on how full they
// happen to be.
#pragma once

#include <map>

namespace deltabloom::internal {

// The sizes up to which compactions let the levels grow. A number is 0 if it is
// unknown.
struct TreeLimits {
  double level0_files = 0;  // number of files that start a compaction
  double base = 0;          // keys, or bytes, of the first level below level 0
  double ratio = 0;         // size of a level / size of the level above it
  bool dynamic = false;     // levels are sized from the last one upwards
  bool kept = true;         // automatic leveled compactions keep the limits
  bool filters = true;      // the column family has a filter policy

  bool Known() const {
    return kept && level0_files > 0 && base > 0 && ratio >= 1;
  }
};

// The sorted runs of a level. Each file of level 0 is a run, and each other
// level is one.
struct LevelRuns {
  double runs = 0;
  double keys = 0;  // in all runs together

  // REQUIRES: there is a run.
  double KeysOfOne() const { return keys / runs; }
};

struct FullTree {
  int last_level = 0;  // 0 if all keys are in level 0
  std::map<int, LevelRuns> levels;

  bool InLastRun(int level) const {
    return last_level > 0 && level >= last_level;
  }
  // Returns the level in the plan to which a level of the tree belongs.
  int PlannedLevel(int level) const {
    return InLastRun(level) ? last_level : level;
  }
};

// Returns the level with the most keys, level 0 aside; 0 if there is no other.
// Of equal levels it is the deepest: a compaction that moves a whole level into
// an empty one reads as many keys as the level that it empties still has.
int LastLevel(const std::map<int, LevelRuns>& levels);

// Plans the full tree of the levels as they are now. If the limits are unknown,
// all levels are planned as they are.
FullTree PlanFullTree(const std::map<int, LevelRuns>& now,
                      const TreeLimits& limits, double flush_keys);

}  // namespace deltabloom::internal
