// The report of doctor on a database.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/doctor/filter_loads.h"

namespace deltabloom::tools {

// Tables that have the same kind of filter, in one level of a column family.
struct TableGroup {
  uint64_t tables = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
  uint64_t filter_bytes = 0;
  // When they were written, in seconds since 1970; 0: not known.
  uint64_t oldest = 0;
  uint64_t newest = 0;

  void Add(const TableGroup& other) {
    tables += other.tables;
    bytes += other.bytes;
    entries += other.entries;
    filter_bytes += other.filter_bytes;
    if (oldest == 0 || (other.oldest != 0 && other.oldest < oldest)) {
      oldest = other.oldest;
    }
    newest = std::max(newest, other.newest);
  }
};

struct GroupKey {
  std::string family;
  int level = -1;  // -1: not known
  // The kind of the filter, by its bytes; empty: no filter.
  std::string filter;
  // The name of the filter in the table; empty without a filter.
  std::string compatibility_name;
  // True if lookups under the policy of the family use it; nothing if that is
  // not known.
  std::optional<bool> used;
  // True if it is expected to match most keys that it does not hold.
  bool weak = false;
  bool few_prefixes = false;     // it holds a few, and nothing else
  bool few_bits = false;         // fewer than the policy has
  bool needs_no_filter = false;  // or none is asked

  auto Members() const {
    return std::tie(family, level, filter, compatibility_name, used, weak,
                    few_prefixes, few_bits, needs_no_filter);
  }
  bool operator<(const GroupKey& other) const {
    return Members() < other.Members();
  }
};

struct DatabaseReport : Database {
  std::map<GroupKey, TableGroup> groups;
  std::map<std::string, Reads> reads;         // by column family
  std::map<std::string, FamilyCache> caches;  // the same
};

// Groups the tables, and predicts what lookups read and load.
DatabaseReport ReportOf(Database database);

}  // namespace deltabloom::tools
