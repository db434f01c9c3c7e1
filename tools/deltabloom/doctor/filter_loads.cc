#include "tools/deltabloom/doctor/filter_loads.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "tools/deltabloom/database/block_cache.h"
#include "tools/deltabloom/database/database.h"
#include "tools/deltabloom/database/options_file.h"

namespace deltabloom::tools {

void CachedFilters::Add(const DatabaseTable& table) {
  const auto keys =
      static_cast<double>(std::max<uint64_t>(1, table.filter_keys));
  Run& run = runs_[{table.level, table.level == 0 ? runs_.size() : 0}];
  run.filter_bytes += static_cast<double>(table.filter_bytes);
  run.filters +=
      static_cast<double>(std::max<uint64_t>(1, table.filter_partitions));
  run.data_bytes += static_cast<double>(table.data_bytes);
  run.data_blocks += static_cast<double>(table.data_blocks);
  run.keys += keys;
  run.rejected += keys * (1 - table.use.rate.value_or(0));
  filter_bytes_ += table.filter_bytes;
  index_bytes_ += table.index_bytes;
  keys_ += table.filter_keys;
  all_partitioned_ = all_partitioned_ && table.filter_partitions > 0;
}

FilterLoads CachedFilters::Loads(double capacity,
                                 double partition_bytes) const {
  FilterLoads loads;
  for (const auto& [key, run] : runs_) {
    const double held = std::min(capacity, run.filter_bytes);
    capacity -= held;
    const double missed = 1 - held / run.filter_bytes;
    const double bytes = run.filter_bytes / run.filters;
    loads.filters += missed;
    loads.bytes += missed * bytes;
    loads.partition_bytes += missed * std::min(bytes, partition_bytes);
    const double rejected = run.rejected / run.keys;
    loads.blocks_saved += rejected;
    loads.bytes_saved +=
        rejected * run.data_bytes / std::max(1.0, run.data_blocks);
  }
  return loads;
}

std::map<std::string, FamilyCache> FindFilterLoads(const Database& database,
                                                   std::string* problem) {
  std::map<std::string, const FamilyOptions*> options;
  for (const FamilyOptions& family : database.options.families) {
    options[family.name] = &family;
  }
  std::map<std::string, FamilyCache> found;
  for (const DatabaseTable& table : database.tables) {
    const auto family = options.find(table.family);
    if (family == options.end() || table.level < 0) continue;
    if (table.filter_bytes == 0 || table.use.used == false) continue;
    if (!family->second->CachesFilters(table.filter_partitions > 0)) continue;
    found[table.family].filters.Add(table);
  }
  if (found.empty() || !database.options.log_directory.empty()) return found;
  BlockCaches caches;
  *problem = ReadBlockCaches(database.path, &caches);
  std::map<std::string, uint64_t> bytes_by_address;
  for (const auto& [name, family] : found) {
    const auto cache = caches.find(name);
    if (cache == caches.end()) continue;
    bytes_by_address[cache->second.address] += family.filters.filter_bytes();
  }
  for (auto& [name, family] : found) {
    const auto cache = caches.find(name);
    if (cache == caches.end()) continue;
    const uint64_t bytes = family.filters.filter_bytes();
    const uint64_t of_all = bytes_by_address[cache->second.address];
    family.capacity = cache->second.capacity;
    family.is_shared = bytes < of_all;
    family.share = static_cast<double>(cache->second.capacity) *
                   static_cast<double>(bytes) / static_cast<double>(of_all);
    family.loads = family.filters.Loads(
        family.share, static_cast<double>(options[name]->metadata_block_size));
  }
  return found;
}

}  // namespace deltabloom::tools
