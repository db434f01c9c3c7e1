#include "table/sst/read_block.h"

#include <snappy.h>

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

enum Compression : uint8_t { kNoCompression = 0, kSnappy = 1 };

}  // namespace

bool TakeHandle(Cursor* cursor, BlockHandle* handle) {
  return cursor->Varint64(&handle->offset) && cursor->Varint64(&handle->size);
}

std::string CheckHandle(const SstFile& file, const BlockHandle& handle) {
  const uint64_t end = file.footer_offset;
  if (handle.size <= end && kBlockTrailerSize <= end - handle.size &&
      handle.offset <= end - handle.size - kBlockTrailerSize) {
    return {};
  }
  return "expected a block that ends in front of the footer at " +
         std::to_string(end) + ", found a handle to " +
         std::to_string(handle.size) + " bytes at " +
         std::to_string(handle.offset);
}

std::string At(const SstSource& source, uint64_t offset) {
  return source.Name() + ": offset " + std::to_string(offset) + ": ";
}

std::string ReadStored(const SstSource& source, const SstFile& file,
                       const BlockHandle& handle, std::string* stored) {
  const std::string error = CheckHandle(file, handle);
  if (!error.empty()) return At(source, handle.offset) + error;
  stored->resize(handle.size + kBlockTrailerSize);
  return source.Read(handle.offset, stored->size(), stored->data());
}

bool ChecksumHolds(const SstFile& file, uint64_t offset,
                   const std::string& stored) {
  const size_t checked = stored.size() - 4;
  return BlockChecksum(file.checksum, {stored.data(), checked}) +
             ChecksumContext(file.checksum_base, offset) ==
         LoadFixed32(stored.data() + checked);
}

std::string ChecksumError(const SstSource& source, const SstFile& file,
                          const BlockHandle& handle) {
  return At(source, handle.offset) + "expected a block of " +
         std::to_string(handle.size) + " bytes whose checksum (" +
         ChecksumName(file.checksum) + ") holds, found one that does not";
}

// Of the blocks that a walk reads only LevelDB's metaindex can be compressed,
// and only by Snappy.
std::string Unpack(const SstSource& source, const BlockHandle& handle,
                   std::string* block) {
  const auto compression = static_cast<uint8_t>((*block)[handle.size]);
  block->resize(handle.size);
  if (compression == kNoCompression) return {};
  if (compression != kSnappy) {
    return At(source, handle.offset) +
           "expected a block that is not compressed (0) or compressed by "
           "Snappy (1), found compression " +
           std::to_string(compression);
  }
  // No Snappy element of b bytes yields more than 64 / 3 b: what claims more
  // is damaged, and must not make us allocate it.
  size_t size = 0;
  std::string unpacked;
  if (!snappy::GetUncompressedLength(block->data(), block->size(), &size) ||
      size / 22 > block->size() ||
      !snappy::Uncompress(block->data(), block->size(), &unpacked)) {
    return At(source, handle.offset) +
           "expected a block compressed by Snappy, found bytes that Snappy "
           "cannot decompress";
  }
  *block = std::move(unpacked);
  return {};
}

std::string ReadBlock(const SstSource& source, const SstFile& file,
                      const BlockHandle& handle, std::string* contents) {
  const std::string error = ReadStored(source, file, handle, contents);
  if (!error.empty()) return error;
  if (!ChecksumHolds(file, handle.offset, *contents)) {
    return ChecksumError(source, file, handle);
  }
  return Unpack(source, handle, contents);
}

}  // namespace deltabloom::internal
