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

#include "table/sst/block.h"
#include "table/sst/source.h"

namespace deltabloom::internal {

// The bytes after each block: its compression, and its checksum.
inline constexpr uint64_t kBlockTrailerSize = 5;

// A block without its trailer.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// RocksDB's table properties:
// names and values in the block that stores them. Names share prefixes there,
// so that a copy of each could be far larger than the block.
class SstProperties {
 public:
  // Takes the block over. Returns what is wrong with it; then there are none.
  std::string Parse(std::string block);

  bool empty() const { return block_.empty(); }

  // False when there is no property of that name; Number also when its value is
  // not a varint64 and nothing else. *value lives as long as this.
  bool Text(std::string_view name, std::string_view* value) const;
  bool Number(std::string_view name, uint64_t* value) const;

 private:
  std::string block_;
};

// What a filter covers, given by the prefix of its name in the metaindex.
enum class FilterScope : uint8_t {
  kPerBlock,     // "filter.": a filter block in LevelDB's framing
  kFull,         // "fullfilter.": one filter for all keys
  kPartitioned,  // "partitionedfilter.": an index of filters
};

// "per-block", "full", "partitioned".
const char* ScopeName(FilterScope scope);

struct SstFilter {
  FilterScope scope = FilterScope::kFull;
  std::string policy;  // the name after the prefix
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

// --- For readers of other blocks -------------------------------------------

// Whether the metaindex gives the handle of the index, and not the footer.
bool IndexIsInMetaindex(const SstFile& file);

// Takes two varint64 off the cursor.
bool TakeHandle(Cursor* cursor, BlockHandle* handle);

// Fails unless the block and its trailer end before the footer; the error
// does not say where the handle was found.
std::string CheckHandle(const SstFile& file, const BlockHandle& handle);

// "table.sst: offset 12: "
std::string At(const SstSource& source, uint64_t offset);

// Reads a block with its trailer. The handle is checked first, so that nothing
// larger than the file is allocated.
std::string ReadStored(const SstSource& source, const SstFile& file,
                       const BlockHandle& handle, std::string* stored);

// Whether the checksum of what ReadStored gave from this offset holds; and what
// to say if not.
bool ChecksumHolds(const SstFile& file, uint64_t offset,
                   const std::string& stored);
std::string ChecksumError(const SstSource& source, const SstFile& file,
                          const BlockHandle& handle);

// Takes the trailer off what ReadStored gave, and undoes the compression.
std::string Unpack(const SstSource& source, const BlockHandle& handle,
                   std::string* block);

// Where a properties block holds the sequence number of a file that RocksDB
// took in: it is written over zeros after the checksum of the block was. Empty
// when it is not there.
std::string_view FindGlobalSequenceNumber(std::string_view block);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_SST_H_
