// The model of deltabloom estimate: the sorted runs of a database, and what
// each filter costs and saves in them.
#pragma once

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

// A level, all tables of level 0, or one of these.
struct TreeLevel {
  std::string name;
  double keys = 0;  // of all its runs
  // Whose filters a lookup asks: the tables of level 0, else 1; less where they
  // reach over a part of the keys. More than 0.
  double runs = 1;
  double tables = 1;
  bool is_level0 = false;
  bool bottommost = false;  // or of another kind that gets bits_per_key
};

// The sorted runs of RocksDB's leveled compaction, from the newest to the
// oldest. Level 0 holds `level0_tables` full write buffers, the last level 1 /
// (1 + 1/T + 1/T^2 ...) of the rest, and each level above it a T-th of the one
// below, down to max_bytes_for_level_base: a tree with
// level_compaction_dynamic_level_bytes. Data that fits into level 0 has no
// other level. Without keys there is no level.
std::vector<TreeLevel> BuildTree(const TreeOptions& options);

// The filters of one level.
struct LevelFilters {
  double bits_per_key = 0;  // without the framing; 0: no filter
  std::string layout;       // "" for RocksDB's own filters
  double rate = 1;          // of one filter
  double bytes = 0;         // of all of them
  double build_bytes = 0;   // temporary memory for one
};

struct FilterEstimate {
  std::string filter;  // "rocksdb-bloom", "compact"
  // The text of the policy, in which BITS stands for bits_per_key; empty for
  // RocksDB's filters and for those that are there.
  std::string policy_pattern;
  // As it is set; 0: filters that are there. RocksDB's Ribbon filter is set so
  // that it stores as many.
  double bits_per_key = 0;
  std::vector<LevelFilters> levels;
  double bytes = 0;
  double absent_reads = 0;   // data blocks per lookup of an absent key
  double present_reads = 0;  // of a present one, including its own block
  double build_bytes = 0;    // temporary memory for the largest filter
  std::string remark;        // a reason not to take it
};

// The size of the filters: one of the three is not 0.
struct Budget {
  double bits_per_key = 0;
  double bytes = 0;         // of all filters together
  double absent_reads = 0;  // at most; the fewest bits that reach it
};

// A row for each filter, RocksDB's Bloom filter first, Deltabloom's default
// last. For a budget of bytes or reads each row has its own bits_per_key, of at
// most 100, in thousandths.
std::vector<FilterEstimate> EstimateFilters(const std::vector<TreeLevel>& tree,
                                            const Budget& budget);

// "deltabloom:10" of "deltabloom:BITS".
std::string PolicyText(const std::string& pattern, double bits_per_key);

// Estimates filters that are there. `levels` has the order of the tree.
FilterEstimate EstimateOf(const std::vector<TreeLevel>& tree,
                          std::vector<LevelFilters> levels);

// Returns the rate of the filter that deltabloom refilter makes for as many
// keys in these bytes.
double RateInBytes(double keys, double bytes);

}  // namespace deltabloom::tools
