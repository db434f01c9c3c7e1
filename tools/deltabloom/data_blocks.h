// The keys in the data blocks of a table, read without its engine: LevelDB's
// tables and RocksDB's block-based ones. Functions that return a string return
// an error in one line, or nothing, as in table/sst/sst.h.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_DATA_BLOCKS_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_DATA_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "table/sst/sst.h"

namespace deltabloom::tools {

// LevelDB and RocksDB append sequence number and type to a key.
inline constexpr size_t kTagSize = 8;

// Returns false to stop.
using KeyFn = std::function<bool(std::string_view key)>;

class DataBlocks {
 public:
  // Both must outlive it.
  DataBlocks(const internal::SstSource& source, const internal::SstFile& file)
      : source_(source), file_(file) {}

  // Calls fn for each data block, in order, until it returns an error.
  // `last_key` is the last key of the block, or one between it and the next
  // block's first, as the index has it.
  std::string ForEach(const internal::HandleFn& fn);

  // Calls fn with each key of a block, as it is stored.
  std::string ForEachKey(const internal::BlockHandle& handle, const KeyFn& fn);

 private:
  // Verifies the checksum and undoes the compression. *block lives until the
  // next call.
  std::string Read(const internal::BlockHandle& handle,
                   std::string_view* block);
  std::string ForEachHandle(const internal::BlockHandle& index, bool first_keys,
                            const internal::HandleFn& fn);
  std::string FindDictionary();

  const internal::SstSource& source_;
  const internal::SstFile& file_;
  std::string dictionary_;  // of all blocks; empty: none
  std::string window_;      // bytes of the file from window_start_ on
  uint64_t window_start_ = 0;
  std::unique_ptr<char[]> decompressed_;
  size_t capacity_ = 0;  // of decompressed_
  std::string key_;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_DATA_BLOCKS_H_
