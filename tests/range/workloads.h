// Keys as databases have them, and the kinds of scans that look for keys among
// them: all orders of a user, the last hour of a tenant, one value of an index.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/random.h"
#include "util/range/range.h"

namespace deltabloom::test {

using internal::range::Range;

// One kind of scan. `draw` may return ranges that hold keys.
struct ScanKind {
  const char* name;
  std::function<Range(Random*)> draw;
};

// The keys of one table and the scans of the database.
struct Table {
  std::vector<std::string> keys;  // ascending, distinct
  std::vector<ScanKind> kinds;

  bool Holds(const Range& range) const;
  // Draws an empty range of this kind. Both bounds are empty if too few ranges
  // of the kind are.
  Range DrawEmpty(const ScanKind& kind, Random* random) const;
};

// The density of a table's keys among those of the database: a group (a user, a
// folder) has about four keys in a table of the last level, and one or none in
// tables of the levels above.
struct Density {
  const char* name;
  uint64_t groups;  // for each four keys of the table
};
inline constexpr Density kLevels[] = {
    {"last", 1}, {"middle", 4}, {"first", 16}};

struct Workload {
  const char* name;
  // The most scans of any kind that may pass, in percent (rate_test.cc).
  struct {
    double by_keys, learned, drifted;
  } most;
  // Makes about `keys` keys that belong to `groups` groups.
  Table (*make)(size_t keys, uint64_t groups, Random* random);

  Table Make(size_t keys, const Density& level, Random* random) const {
    return make(keys, keys / 4 * level.groups, random);
  }
};

inline std::ostream& operator<<(std::ostream& out, const Workload& that) {
  return out << that.name;
}

const std::vector<Workload>& Workloads();

}  // namespace deltabloom::test
