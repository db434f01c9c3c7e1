// From the footer of a table file through its metaindex to its filters
// (docs/format.md, chapter "Filters inside an SST"): tables of LevelDB, and
// block-based tables of RocksDB with format_version 0 to 7. Uses neither
// engine.
//
// Any bytes are safe, and what is held in memory stays in proportion to the
// file: blocks one at a time, and of names, which share prefixes in the file,
// only those of filters. Functions that return a string return nothing when
// they succeeded, else one line: the file, the offset, what was expected there
// and what was found. Any function may throw std::bad_alloc.
#ifndef DELTABLOOM_TABLE_SST_SST_H_
#define DELTABLOOM_TABLE_SST_SST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "table/sst/checksum.h"
#include "table/sst/properties.h"
#include "table/sst/source.h"

namespace deltabloom::internal {

// A block without the five bytes behind it.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// What a filter covers, told by the prefix of its name in the metaindex.
enum class FilterScope : uint8_t {
  kPerBlock,     // "filter.": a filter block in LevelDB's framing
  kFull,         // "fullfilter.": one filter for all keys
  kPartitioned,  // "partitionedfilter.": an index of filters
};

// "per-block", "full", "partitioned".
const char* ScopeName(FilterScope scope);

struct SstFilter {
  FilterScope scope = FilterScope::kFull;
  std::string policy;  // the name behind the prefix
  // The filter block or the filter; of a partitioned one the index.
  BlockHandle handle;
  uint64_t partitions = 0;  // of a partitioned filter
  uint64_t bytes = 0;       // filter block, filter, or all partitions
};

struct SstFile {
  uint32_t format_version = 0;  // 0: LevelDB's footer, also of old RocksDB
  ChecksumType checksum = ChecksumType::kCrc32c;
  uint32_t checksum_base = 0;  // of ChecksumContext; from format_version 6 on
  uint64_t footer_offset = 0;
  BlockHandle metaindex;
  BlockHandle index;  // in the footer; from format_version 6, the metaindex
  SstProperties properties;  // LevelDB has none
  std::vector<SstFilter> filters;
};

// Finds the filters of a table. Verifies the footer, the metaindex, the
// properties, the indexes of partitions, the checksum of the table's own index
// block (so that no handle goes unchecked), and that every handle lies in the
// file; not the filters, which ReadBlock does.
std::string WalkSst(const SstSource& source, SstFile* file);

// The same but for the table's own index block, which is not read: it may be
// hundreds of kilobytes, where all else takes a few.
std::string FindFilters(const SstSource& source, SstFile* file);

// Calls fn for each partition of a partitioned filter, in order, until it
// returns an error. `last_key` is the last key of the partition, or one between
// it and the next partition's first, as the index has it; `handle` lies in the
// file. Returns fn's error or that of the index.
using PartitionFn = std::function<std::string(std::string_view last_key,
                                              const BlockHandle& handle)>;
std::string ForEachPartition(const SstSource& source, const SstFile& file,
                             const SstFilter& filter, const PartitionFn& fn);

// Reads the block, verifies its checksum and undoes its compression.
std::string ReadBlock(const SstSource& source, const SstFile& file,
                      const BlockHandle& handle, std::string* contents);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_SST_H_
