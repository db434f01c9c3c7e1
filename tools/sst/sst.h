// Finds the filters of a table file, from its footer through its metaindex
// (tools/sst/README.md): for tables of LevelDB, and block-based tables of
// RocksDB with format_version 0 to 7. Uses neither engine.
//
// Any bytes are safe, and memory stays in proportion to the file. Functions
// that return a string return nothing when they succeeded, else one line: the
// file, the offset, what was expected there and what was found. Any function
// may throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace deltabloom::internal {

class SstSource {
 public:
  virtual ~SstSource() = default;
  // For error messages: the path of a file.
  virtual const std::string& Name() const = 0;
  virtual uint64_t Size() const = 0;
  // Fills dst[0 .. n) from `offset` on, which lies in the file. Returns what
  // went wrong in one line, or nothing.
  virtual std::string Read(uint64_t offset, size_t n, char* dst) const = 0;
};

// Null if the file cannot be opened; *error then says why.
std::unique_ptr<SstSource> OpenSstFile(const std::string& path,
                                       std::string* error);

// Takes values off the front of some bytes. Each call returns false, and takes
// nothing, when the bytes do not hold what is asked for.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  // Seven bits per byte, the lowest first, in as few bytes as possible.
  bool Varint64(uint64_t* value);
  bool Varint32(uint32_t* value);
  bool Bytes(uint64_t n, std::string_view* value);

  size_t Left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

// Calls fn for each entry of a block, whose keys share a prefix with the one
// before (`shares_key`), in order, until it returns an error. `value` holds the
// entry's value, or, when the block stores no sizes of values (`sized_values`
// false), everything from the value on, of which fn must take exactly the
// value. Returns fn's error, or what is wrong with the block: "entry at byte
// 12: expected ..., found ...".
using EntryFn = std::function<std::string(std::string_view key, bool shares_key,
                                          Cursor* value)>;
std::string ForEachEntry(std::string_view block, bool sized_values,
                         const EntryFn& fn);

// The numbers are those in the footer.
enum class ChecksumType : uint8_t {
  kNone = 0,
  kCrc32c = 1,
  kXxHash = 2,
  kXxHash64 = 3,
  kXxh3 = 4,
};
inline constexpr uint8_t kLastChecksumType = 4;

const char* ChecksumName(ChecksumType type);

// The four bytes stored after a block, as a number, without context. `block`
// is the block and the byte that names its compression; it is not empty.
uint32_t BlockChecksum(ChecksumType type, std::string_view block);

// Returns the number that is added, modulo 2^32, to the checksum of a block (or
// the footer) at `offset`, so that the checksum fails in another place or
// another file. `base` is the number in the footer that stands for the file; 0
// means that there is no context.
uint32_t ChecksumContext(uint32_t base, uint64_t offset);

// The bytes after each block: its compression, and its checksum.
inline constexpr uint64_t kBlockTrailerSize = 5;

// A block without its trailer.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// RocksDB's table properties: names and values, in the block that stores them.
// Names share prefixes there, so a copy of each could be far larger.
class SstProperties {
 public:
  // Takes the block over. Returns what is wrong with it; then there are none.
  std::string Parse(std::string block);

  bool empty() const { return block_.empty(); }

  std::vector<std::string> Names() const;

  // False when there is no property of that name; Number also when its value is
  // not a varint64 and nothing else. *value lives as long as this.
  bool Text(std::string_view name, std::string_view* value) const;
  bool Number(std::string_view name, uint64_t* value) const;

 private:
  std::string block_;
};

// The keys that a filter covers, given by the prefix of its name in the
// metaindex.
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

// What a file is by its magic number, its last bytes.
enum class TableKind : uint8_t {
  kUnknown,
  kLevelDB,     // also of old RocksDB
  kBlockBased,  // RocksDB's
  kPlain,       // RocksDB's PlainTable
  kCuckoo,      // RocksDB's CuckooTable
};

struct SstFile {
  // Known even if nothing else of the file can be read.
  TableKind kind = TableKind::kUnknown;
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

// Does what WalkSst does, but does not read the table's own index block: it may
// have hundreds of kilobytes, where all else takes a few.
std::string FindFilters(const SstSource& source, SstFile* file);

// Calls fn for each partition of a partitioned filter, in order, until it
// returns an error. `last_key` is the last key of the partition, or one between
// it and the next partition's first, as the index has it; `handle` lies in the
// file. Returns fn's error or that of the index.
using HandleFn = std::function<std::string(std::string_view last_key,
                                           const BlockHandle& handle)>;
std::string ForEachPartition(const SstSource& source, const SstFile& file,
                             const SstFilter& filter, const HandleFn& fn);
// Calls fn for each handle in a block of the table's own index. `first_keys`
// says that the first key of a block follows its handle.
std::string ForEachHandle(const SstFile& file, std::string_view index,
                          bool first_keys, const HandleFn& fn);

// Reads the block, verifies its checksum and undoes its compression.
std::string ReadBlock(const SstSource& source, const SstFile& file,
                      const BlockHandle& handle, std::string* contents);

// Bytes that take the place of others in a file.
struct SstPatch {
  uint64_t offset = 0;
  std::string bytes;
};

// Finds the patches that replace a full or partitioned filter within its own
// bytes: the new filters, zeros in what they leave, and the handles of their
// sizes in the metaindex or in the index of the partitions. All other bytes
// stay. `filters` has one for each partition, in order. The old filter remains
// where that is empty or longer than the old one, or where its handle would
// become longer or shorter. If that is so for all of them, there are no patches
// and *kept says why.
std::string ReplaceFilters(const SstSource& source, const SstFile& file,
                           const SstFilter& filter,
                           const std::vector<std::string>& filters,
                           std::vector<SstPatch>* patches, std::string* kept);

// --- For readers of other blocks -------------------------------------------

// Takes two varint64 off the cursor.
bool TakeHandle(Cursor* cursor, BlockHandle* handle);

// Fails unless the block and its trailer end before the footer; the error
// does not say where the handle was found.
std::string CheckHandle(const SstFile& file, const BlockHandle& handle);

// "table.sst: offset 12: "
std::string At(const SstSource& source, uint64_t offset);

}  // namespace deltabloom::internal
