// Finds whether lookups load more bytes of filters into the block cache than
// the filters save.
#include <cstdint>
#include <string>

#include "tools/deltabloom/doctor/filter_loads.h"
#include "tools/deltabloom/doctor/findings.h"
#include "tools/deltabloom/doctor/report.h"
#include "tools/deltabloom/doctor/text.h"
#include "tools/program/console.h"

namespace deltabloom::tools {
namespace {

void Loads(const std::string& path, const std::string& name,
           const FamilyCache& cache, Findings* findings) {
  const FilterLoads& loads = cache.loads;
  if (!(loads.bytes > loads.bytes_saved)) return;
  const CachedFilters& filters = cache.filters;
  const auto filter_bytes = static_cast<double>(filters.filter_bytes());
  const auto index_bytes = static_cast<double>(filters.index_bytes());
  std::string to_do =
      "look at the statistics of loaded filters first. What helps: a larger "
      "block cache; ";
  if (!filters.all_partitioned()) {
    to_do +=
        "partition_filters=true and index_type=kTwoLevelIndexSearch, with "
        "which lookups load " +
        Size(loads.partition_bytes) +
        " once the tables are rewritten; cache_index_and_filter_blocks="
        "false, which keeps filters and indexes, " +
        Size(filters.filter_bytes() + filters.index_bytes()) +
        ", in memory beside the cache";
  } else {
    to_do += "a smaller metadata_block_size, by default 4096";
  }
  // Indexes are in the cache too.
  const double filter_memory =
      cache.share * filter_bytes / (filter_bytes + index_bytes);
  const double bits_per_key =
      8 * filter_memory / static_cast<double>(filters.keys());
  // With 4 bits per key filters reject 85 to 93 % of the absent keys, by layout
  // (deltabloom estimate); still smaller ones are not proposed.
  constexpr double kLeastBits = 4;
  if (bits_per_key >= kLeastBits) {
    to_do += "; filters of " + Format("%.1f", bits_per_key) +
             " bits per key, which the cache can hold beside the indexes: "
             "deltabloom estimate " +
             ShellWord(path) + " --filter-memory " +
             std::to_string(static_cast<uint64_t>(filter_memory)) +
             " prints the bits_per_key to set";
  }
  findings->Add(
      Severity::kNote, "filter_loads_exceed_reads",
      FamilyText(name) + ": filters of " + Size(filters.filter_bytes()) +
          " in a block cache of " + Size(*cache.capacity) + " (by the LOG" +
          (cache.is_shared ? ", which column families share" : "") +
          "): where lookups of absent keys are spread over all keys, each "
          "loads at least " +
          Format("%.2f", loads.filters) +
          (filters.all_partitioned() ? " partitions, " : " filters, ") +
          Size(loads.bytes) + ", and saves " +
          Format("%.2f", loads.blocks_saved) + " data blocks, " +
          Size(loads.bytes_saved),
      to_do);
}

}  // namespace

void FindInCaches(const DatabaseReport& database, Findings* findings) {
  for (const auto& [name, cache] : database.caches) {
    Loads(database.path, name, cache, findings);
  }
}

}  // namespace deltabloom::tools
