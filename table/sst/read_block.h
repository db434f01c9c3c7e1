// Blocks of a table: where they lie, and their bytes.
#ifndef DELTABLOOM_TABLE_SST_READ_BLOCK_H_
#define DELTABLOOM_TABLE_SST_READ_BLOCK_H_

#include <cstdint>
#include <string>

#include "table/sst/block.h"
#include "table/sst/sst.h"

namespace deltabloom::internal {

// The bytes behind each block: its compression, and its checksum.
inline constexpr uint64_t kBlockTrailerSize = 5;

// Takes two varint64 off the cursor.
bool TakeHandle(Cursor* cursor, BlockHandle* handle);

// Fails unless the block and its trailer end in front of the footer; the error
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

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_READ_BLOCK_H_
