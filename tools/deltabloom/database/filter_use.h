// Tells whether lookups under a policy use the filter of a table, and how many
// reads it saves.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/sst/sst.h"

namespace deltabloom::tools {

// The way in which a database that is opened with a policy reads filters.
class PolicyReader {
 public:
  virtual ~PolicyReader() = default;
  // Returns whether the policy reads filters under this name, the one in the
  // metaindex.
  virtual bool Opens(const std::string& compatibility_name) const = 0;
  // Returns whether the filter matches each of a hundred keys made here, none
  // of which a database has.
  virtual bool MatchesEverything(std::string_view filter) const = 0;
  // Return whether the policy looks up whole keys, and the name of the prefix
  // extractor whose prefixes it looks up; empty: none.
  virtual bool LooksUpWholeKeys() const = 0;
  virtual const std::string& PrefixExtractor() const = 0;
};

struct FilterUse {
  std::string kind;  // "RocksDB Bloom", by its bytes; empty: no filter
  // True if lookups use it; nothing if that is not known.
  std::optional<bool> used;
  // Its expected false-positive rate, 1 if it always matches; nothing: not
  // known.
  std::optional<double> rate;

  // The rate as lookups see it.
  std::optional<double> RateInUse() const {
    if (kind.empty() || used == false) return 1;
    return rate;
  }
};

// Reads the last bytes of the filter, or all of it where these do not show that
// the policy uses it, and of a partitioned filter four partitions: checksums
// are verified only where all of a filter is read. A null policy: not known.
// Throws std::runtime_error.
FilterUse FindFilterUse(const internal::SstSource& source,
                        const internal::SstFile& file,
                        const PolicyReader* policy);

}  // namespace deltabloom::tools
