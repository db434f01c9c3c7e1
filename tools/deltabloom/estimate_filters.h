// What each filter costs and saves on a tree, by the rates of its layout.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_FILTERS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_FILTERS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "deltabloom/filter.h"
#include "tools/deltabloom/estimate_tree.h"

namespace deltabloom::tools {

// The filters of one level.
struct LevelFilters {
  double bits_per_key = 0;  // stored, but for the framing; 0: none
  std::string layout;       // "" where there is no choice
  double rate = 1;          // of one filter
  double bytes = 0;         // of all of them
};

struct FilterEstimate {
  std::string filter;      // "rocksdb-bloom", "compact", "auto"
  std::string allocation;  // "uniform", "levels"
  std::vector<LevelFilters> levels;
  double keys = 0;
  double bytes = 0;
  double absent_reads = 0;   // data blocks per lookup of an absent key
  double present_reads = 0;  // of a present one, its own among them
  double build_bytes = 0;    // temporary memory for the largest filter
  std::string remark;        // a reason not to take it

  double BitsPerKey() const { return keys > 0 ? 8 * bytes / keys : 0; }
};

// How large the filters are: one of the three, the others being 0.
struct Budget {
  double bits_per_key = 0;
  double bytes = 0;         // of all filters together
  double absent_reads = 0;  // at most so many; the fewest bits that do
};

struct FilterName {
  std::string filter;
  std::string allocation;
};

// Those of EstimateFilters(), in its order.
std::vector<FilterName> FilterNames();

// A row for each filter and allocation, RocksDB's Bloom filter first. For a
// budget of bytes or reads each row has its own bits.
std::vector<FilterEstimate> EstimateFilters(const std::vector<TreeLevel>& tree,
                                            const Budget& budget);

// Of a filter of 100,000 keys.
double UniformRate(Layout layout, double bits_per_key);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_ESTIMATE_FILTERS_H_
