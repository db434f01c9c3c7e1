// The keys in the data blocks of a table, read without its engine: LevelDB's
// tables and RocksDB's block-based ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tools/sst/sst.h"

namespace deltabloom::tools {

// LevelDB and RocksDB append sequence number and type to a key.
inline constexpr size_t kTagSize = 8;

// Errors are thrown as std::runtime_error, with one line of text.
class DataBlocks {
 public:
  // The source and the file must outlive this object.
  DataBlocks(const internal::SstSource& source, const internal::SstFile& file)
      : source_(source), file_(file) {}

  // Calls fn for each data block, in order. `last_key` is the last key of the
  // block, or one between it and the next block's first, as the index has it.
  using BlockFn = std::function<void(std::string_view last_key,
                                     const internal::BlockHandle& handle)>;
  void ForEach(const BlockFn& fn);

  // Calls fn with each key of a block, as it is stored.
  using KeyFn = std::function<void(std::string_view key)>;
  void ForEachKey(const internal::BlockHandle& handle, const KeyFn& fn);

 private:
  // Verifies the checksum and undoes the compression. The block lives until the
  // next call.
  std::string_view Read(const internal::BlockHandle& handle);
  void ForEachHandle(const internal::BlockHandle& index, bool first_keys,
                     const BlockFn& fn);
  void FindDictionary();

  const internal::SstSource& source_;
  const internal::SstFile& file_;
  std::string dictionary_;  // of all blocks; empty: none
  std::string window_;      // bytes of the file from window_start_ on
  uint64_t window_start_ = 0;
  std::unique_ptr<char[]> decompressed_;
  size_t capacity_ = 0;  // of decompressed_
  std::string key_;      // the last one; kept for its memory
};

}  // namespace deltabloom::tools
