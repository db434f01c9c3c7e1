#include "engines/rocksdb/levels/filter_memory.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "engines/rocksdb/base/options.h"
#include "engines/rocksdb/levels/tree_bits.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "engines/rocksdb/levels/trees.h"
#include "util/json.h"

namespace deltabloom::internal {
namespace {

// The share of the total that the average is planned with. Filters on disk may
// then have the whole total, which is 3 % more than planned, as they may
// without a total. If all of the total were planned, filters would exceed it by
// 10 % instead of 5 %, and lookups have 1.2 times as many false positives
// (docs/measurements.md).
constexpr double kPlannedMemory = 1 / (1 + kMostExcess);

}  // namespace

uint64_t FilterBytesOnDisk(const DatabaseTrees& trees) {
  double bits = 0;
  for (const auto& [name, family] : trees.families) {
    bits += family.tree.FilterBits(0);
    for (const uint64_t file : family.deleted) {
      bits -= std::max(family.tree.Find(file).facts.filter_bits, 0.0);
    }
  }
  return static_cast<uint64_t>(std::max(bits, 0.0) / 8);
}

Memory MemoryOf(const DatabaseTrees& trees, double unknown) {
  Memory memory;
  for (const auto& [name, family] : trees.families) {
    const uint64_t total = family.filter_memory;
    const double bits =
        family.tree.FilterBits(family.tree.limits().filters ? unknown : 0);
    (total == 0 ? memory.other_bits : memory.bits) += bits;
    if (total == 0) continue;
    memory.keys += family.tree.keys();
    memory.differs |= memory.asked != 0 && memory.asked != total;
    memory.asked = memory.asked == 0 ? total : std::min(memory.asked, total);
  }
  for (const auto& [id, job] : trees.jobs) {
    const auto family = trees.families.find(job.family);
    if (family == trees.families.end()) continue;
    const bool shares = family->second.filter_memory != 0;
    (shares ? memory.bits : memory.other_bits) -= job.BitsInPlace(unknown);
  }
  return memory;
}

double BitsFromBefore(const DatabaseTrees& trees,
                      const PolicyOptions& options) {
  double keys = 0;
  for (const auto& [name, family] : trees.families) {
    if (family.tree.limits().filters) keys += family.tree.keys();
  }
  const double planned =
      kPlannedMemory * 8 * static_cast<double>(options.filter_memory);
  return std::min(planned / std::max(keys, 1.0), options.max_bits_per_key);
}

double SharedBits(const Memory& memory, const PolicyOptions& options,
                  double keys_to_come, std::string* problem) {
  if (memory.differs) {
    *problem =
        "column families have different values of filter_memory: the smallest "
        "is used until all have the same";
  }
  const double planned = memory.Shared() * kPlannedMemory;
  if (planned < options.min_bits_per_key * memory.keys) {
    if (!problem->empty()) *problem += "; ";
    *problem += "filter_memory=" + std::to_string(memory.asked) +
                " cannot be kept: filters have min_bits_per_key=" +
                NumberText(options.min_bits_per_key);
  }
  return std::clamp(
      planned / std::max(memory.keys + keys_to_come, 1.0),
      options.min_bits_per_key,
      std::max(options.min_bits_per_key, options.max_bits_per_key));
}

}  // namespace deltabloom::internal
