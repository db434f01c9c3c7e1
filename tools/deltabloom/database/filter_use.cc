#include "tools/deltabloom/database/filter_use.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/deltabloom/database/reads.h"
#include "tools/deltabloom/tables/filter_kind.h"
#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::FilterScope;
using internal::SstFile;
using internal::SstFilter;
using internal::SstSource;

// A filter says at its end what it is: 5 bytes of RocksDB's, at most 60 of
// Deltabloom's. The rest of a page comes for free.
constexpr uint64_t kEndSize = 4096;

// One builder writes all partitions of a table, so a few stand for all of them.
// One would not be enough, because refilter leaves partitions that have no room
// for a better filter.
constexpr size_t kPartitions = 4;

// Returns the filter with zeros in place of all but its last bytes. To a reader
// it is a Bloom or Ribbon filter without keys, which rejects every key that it
// is asked for.
std::string ReadEnd(const SstSource& source, const BlockHandle& handle) {
  std::string bytes(handle.size, '\0');
  const uint64_t size = std::min(handle.size, kEndSize);
  const uint64_t from = handle.size - size;
  Check(source.Read(handle.offset + from, size, bytes.data() + from));
  return bytes;
}

// Returns whether a lookup queries the filter of this table, whatever its bytes
// are.
bool IsAsked(const SstFile& file, const SstFilter& filter,
             const PolicyReader& policy) {
  // RocksDB 7.0 and later does not read filters per block.
  if (filter.scope == FilterScope::kPerBlock) return false;
  const bool whole_keys =
      policy.LooksUpWholeKeys() &&
      TextOf(file, "rocksdb.block.based.table.whole.key.filtering") != "0";
  const bool prefixes =
      !policy.PrefixExtractor().empty() &&
      TextOf(file, "rocksdb.block.based.table.prefix.filtering") != "0" &&
      TextOf(file, "rocksdb.prefix.extractor.name") == policy.PrefixExtractor();
  return policy.Opens(filter.policy) && (whole_keys || prefixes);
}

}  // namespace

FilterUse FindFilterUse(const SstSource& source, const SstFile& file,
                        const PolicyReader* policy) {
  FilterUse use;
  if (file.filters.empty()) {
    // Deletions of ranges are elsewhere, and no lookup asks a filter for them.
    if (NumberOf(file, "rocksdb.num.entries", 1) ==
        NumberOf(file, "rocksdb.num.range-deletions")) {
      use = {"no keys", true, 0};
    }
    return use;
  }
  const SstFilter& filter = file.filters[0];
  if (filter.scope == FilterScope::kPerBlock) {
    use.kind = "per block";
    const bool of_rocksdb = file.format_version > 0 || !file.properties.empty();
    if (of_rocksdb || policy != nullptr) use.used = false;
    return use;
  }
  if (policy != nullptr) use.used = IsAsked(file, filter, *policy);
  const std::vector<BlockHandle> blocks = FilterBlocks(source, file, filter);
  const size_t sample = std::min(kPartitions, blocks.size());
  RateSum rate;
  for (size_t i = 0; i < sample; ++i) {
    // The sample runs from the first partition to the last.
    const BlockHandle& handle =
        blocks[sample == 1 ? 0 : i * (blocks.size() - 1) / (sample - 1)];
    const double keys =
        static_cast<double>(FilterKeysOf(file)) *
        static_cast<double>(handle.size) /
        static_cast<double>(std::max<uint64_t>(filter.bytes, 1));
    std::string bytes = ReadEnd(source, handle);
    std::optional<double> expected;
    bool matches_all;
    const auto look = [&] {
      expected = RateOfSealedFilter(bytes, static_cast<uint64_t>(keys + 0.5));
      matches_all = policy != nullptr && policy->MatchesEverything(bytes);
    };
    look();
    if (matches_all || expected == 1) {
      bytes = ReadBlock(source, file, handle);
      look();
    }
    rate.Add(expected, std::max(keys, 1.0));
    // A filter that always matches is used, and useless.
    const bool unused = matches_all && expected.value_or(0) < 1;
    if (use.kind.empty() || unused)
      use.kind = KindOfFilter(filter.policy, bytes);
    if (unused) use.used = false;
  }
  // The index of a filter that no key came to is empty.
  if (use.kind.empty()) use.kind = "no partition";
  use.rate = sample == 0 ? 0 : rate.Rate();
  return use;
}

}  // namespace deltabloom::tools
