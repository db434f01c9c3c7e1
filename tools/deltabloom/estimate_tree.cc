#include "tools/deltabloom/estimate_tree.h"

#include <algorithm>
#include <cmath>

namespace deltabloom::tools {
namespace {

// More than RocksDB has room for by default (num_levels = 7); asked for by
// --levels only.
constexpr int kMostLevels = 60;

double Tables(double bytes, double table_bytes) {
  return std::max(1.0, std::ceil(bytes / table_bytes));
}

// 1 + 1/T + ... of so many levels: all of them over the last one.
double OverLast(double size_ratio, int levels) {
  double sum = 0;
  for (int i = 0; i < levels; ++i) sum += std::pow(size_ratio, -i);
  return sum;
}

// The fewest levels whose first one is no larger than the base.
int LevelsFor(double bytes, const TreeOptions& options) {
  int levels = 1;
  while (levels < kMostLevels &&
         bytes / OverLast(options.size_ratio, levels) *
                 std::pow(options.size_ratio, 1 - levels) >
             options.level_base_bytes) {
    ++levels;
  }
  return levels;
}

}  // namespace

std::vector<TreeLevel> BuildTree(const TreeOptions& options) {
  std::vector<TreeLevel> tree;
  if (!(options.keys >= 1)) return tree;
  const double bytes = options.keys * options.entry_bytes;
  const double in_level0 = std::min(
      bytes, std::floor(options.level0_tables) * options.write_buffer_bytes);
  const bool all_in_level0 = options.levels == 0 && in_level0 >= bytes;
  const double level0_bytes =
      all_in_level0 || in_level0 < bytes / 2 ? in_level0 : 0;
  if (level0_bytes > 0) {
    const double tables = Tables(level0_bytes, options.write_buffer_bytes);
    tree.push_back(
        {"level 0", level0_bytes / options.entry_bytes, tables, tables});
  }
  const double below = bytes - level0_bytes;
  if (below <= 0) return tree;
  const int levels =
      options.levels > 0 ? options.levels : LevelsFor(below, options);
  const double last = below / OverLast(options.size_ratio, levels);
  for (int i = levels - 1; i >= 0; --i) {
    const double size = last * std::pow(options.size_ratio, -i);
    tree.push_back(
        {i == 0 ? "last level" : "level " + std::to_string(levels - i),
         size / options.entry_bytes, 1, Tables(size, options.table_bytes)});
  }
  return tree;
}

}  // namespace deltabloom::tools
