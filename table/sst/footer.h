// The last 48 or 53 bytes of a table.
#ifndef DELTABLOOM_TABLE_SST_FOOTER_H_
#define DELTABLOOM_TABLE_SST_FOOTER_H_

#include <string>

#include "table/sst/block.h"
#include "table/sst/sst.h"

namespace deltabloom::internal {

// The bytes behind each block: its compression, and its checksum.
inline constexpr uint64_t kBlockTrailerSize = 5;

// Takes two varint64 off the cursor.
bool TakeHandle(Cursor* cursor, BlockHandle* handle);

// Empty if the block and its trailer lie in front of the footer.
std::string CheckHandle(const SstFile& file, const BlockHandle& handle);

// Fills in everything of *file that the footer tells; its handles are checked.
std::string ReadFooter(const SstSource& source, SstFile* file);

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_TABLE_SST_FOOTER_H_
