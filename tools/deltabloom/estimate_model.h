// The model of deltabloom estimate: the sorted runs of a database, and what
// each filter costs and saves in them.
#pragma once

#include <string>
#include <vector>

#include "deltabloom/filter.h"

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
  double bits_per_key = 0;  // stored, without the framing; 0: no filter
  std::string layout;       // "" for RocksDB's own filters
  double rate = 1;          // of one filter
  double bytes = 0;         // of all of them
  double build_bytes = 0;   // temporary memory for one
};

struct FilterEstimate {
  std::string filter;      // "rocksdb-bloom", "compact", "auto"
  std::string allocation;  // "uniform", "levels", "filter_memory"
  std::vector<LevelFilters> levels;
  double asked_bits_per_key = 0;  // levels that need no filter give some back
  double keys = 0;
  double bytes = 0;
  double absent_reads = 0;   // data blocks per lookup of an absent key
  double present_reads = 0;  // of a present one, including its own block
  double wasted_reads = 0;   // false positives per lookup, by Budget::hits
  double build_bytes = 0;    // temporary memory for the largest filter
  std::string remark;        // a reason not to take it

  double BitsPerKey() const { return keys > 0 ? 8 * bytes / keys : 0; }
};

// The size of the filters: one of the three is not 0.
struct Budget {
  double bits_per_key = 0;
  double bytes = 0;         // of all filters together
  double absent_reads = 0;  // at most; the fewest bits that reach it
  // The part of the lookups that find their key. Levels are weighted by it, and
  // no run of them gets fewer bits than min_bits_per_key.
  double hits = 0;
  double min_bits_per_key = 4;
};

// A row for each filter and allocation, RocksDB's Bloom filter first. For a
// budget of bytes or reads each row has its own bits.
std::vector<FilterEstimate> EstimateFilters(const std::vector<TreeLevel>& tree,
                                            const Budget& budget);

// Estimates filters that are there. `levels` has the order of the tree.
FilterEstimate EstimateOf(const std::vector<TreeLevel>& tree,
                          std::vector<LevelFilters> levels, double hits);

// Estimates layout auto with filter_memory. `bytes` is what the column family
// has of the total, of which a little stays free.
FilterEstimate EstimateTotal(const std::vector<TreeLevel>& tree,
                             const Budget& budget);

// Returns the rate of the filter that deltabloom refilter makes for as many
// keys in these bytes.
double RateInBytes(double keys, double bytes);

}  // namespace deltabloom::tools
