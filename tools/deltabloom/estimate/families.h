// The column families of a database, and the estimates for other filters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engines/rocksdb/base/filter_total.h"
#include "engines/rocksdb/base/options.h"
#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/estimate/model.h"

namespace deltabloom::tools {

// CPU seconds of rewriting tables, for each entry and for each byte of the
// tables: docs/measurements.md, "Rewriting tables".
struct RewriteCost {
  double per_entry;
  double per_byte;
};
inline constexpr RewriteCost kCompaction = {0.53e-6, 5.2e-9};
inline constexpr RewriteCost kRefilter = {0.12e-6, 1.1e-9};

// The tables of a column family that are rewritten, to compute the CPU time.
struct Rewrite {
  uint64_t tables = 0;
  double entries = 0;
  double bytes = 0;

  void Add(const DatabaseTable& table) {
    ++tables;
    entries += static_cast<double>(table.entries);
    bytes += static_cast<double>(table.bytes);
  }
  double Seconds(const RewriteCost& cost) const {
    return entries * cost.per_entry + bytes * cost.per_byte;
  }
};

// A level of a column family, as it is.
struct Level {
  uint64_t tables = 0;
  double keys = 0;
  double bytes = 0;
  double filter_bytes = 0;
  double asked = 0;                       // filters per lookup
  std::map<std::string, uint64_t> kinds;  // tables by kind of their filters
  Reads reads;

  // Returns the mean false-positive rate of the filters that a lookup queries.
  std::optional<double> Rate() const {
    const std::optional<double> sum = reads.Sum();
    return sum.has_value() && asked > 0 ? std::optional(*sum / asked)
                                        : std::nullopt;
  }
};

struct Family {
  std::string name;
  const FamilyOptions* options = nullptr;  // null: not known
  std::map<int, Level> levels;
  std::vector<internal::TableKeys> tables;
  double keys = 0;
  double bytes = 0;
  double range_filter_bytes = 0;
  // The tree as the model takes it, and the estimate for the filters that are
  // there: unset if the rate of one of them is not known.
  std::vector<TreeLevel> tree;
  std::optional<FilterEstimate> now;
  FilterEstimate refiltered;
  Rewrite all;
  Rewrite by_refilter;  // of the tables that get better filters

  // The estimates for other filters.
  std::vector<FilterEstimate> filters;     // within the budget
  std::vector<FilterEstimate> same_reads;  // in the same order; or empty
  double reads = 0;                        // same_reads have at most these

  double FilterBytes() const { return refiltered.bytes; }
  bool IsFifo() const { return options != nullptr && options->is_fifo; }
  bool HasDeltabloom() const {
    return options != nullptr && options->NamesDeltabloom();
  }
};

// The bits_per_key of a total.
struct Total {
  internal::PolicyOptions options;
  double bytes = 0;  // of the filters that they make
};

// The column families that have tables, with their trees.
std::vector<Family> FamiliesOf(const Database& database);

// Returns the options of the policy that the OPTIONS file names, as far as they
// can be read; the defaults if it is not Deltabloom's.
internal::PolicyOptions PolicyOf(const Family& family);

// Fits the total for the layout of the first policy of Deltabloom.
Total FitTotal(double bytes, const std::vector<Family>& families);

// Sets the estimates for other filters. Each column family has the part of the
// total that its filters take.
void EstimateFamilies(const Budget& asked, const std::optional<Total>& total,
                      std::vector<Family>* families);

}  // namespace deltabloom::tools
