// The sorted runs that RocksDB's leveled compaction makes of so much data.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_TREE_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_TREE_H_

#include <string>
#include <vector>

namespace deltabloom::tools {

// Defaults are RocksDB's own: write_buffer_size, target_file_size_base,
// max_bytes_for_level_base, max_bytes_for_level_multiplier.
struct TreeOptions {
  double keys = 0;
  double entry_bytes = 100;  // key and value, as stored
  double size_ratio = 10;
  double level_base_bytes = 256 << 20;
  double write_buffer_bytes = 64 << 20;
  double table_bytes = 64 << 20;
  double level0_tables = 2;
  int levels = 0;  // below level 0; 0: as many as the sizes make
};

// A level, or all tables of level 0.
struct TreeLevel {
  std::string name;
  double keys = 0;  // of all its runs
  double runs = 1;  // that a lookup asks: the tables of level 0, else 1
  double tables = 1;
};

// From the newest to the oldest. Level 0 holds as many full write buffers as
// asked for, the last level 1 / (1 + 1/T + 1/T^2 ...) of what is left, each
// above it a T-th of the one below, down to max_bytes_for_level_base: a tree
// with level_compaction_dynamic_level_bytes. What fits into level 0 is there
// alone. No keys make no level.
std::vector<TreeLevel> BuildTree(const TreeOptions& options);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_TREE_H_
