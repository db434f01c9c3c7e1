#include "table/sst/sst.h"

#include <snappy.h>

#include <algorithm>

#include "table/sst/block.h"
#include "table/sst/footer.h"
#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr char kPropertiesName[] = "rocksdb.properties";
constexpr char kGlobalSequenceNumber[] =
    "rocksdb.external_sst_file.global_seqno";
constexpr char kDeltaEncodedName[] = "rocksdb.index.value.is.delta.encoded";

enum Compression : uint8_t { kNoCompression = 0, kSnappy = 1 };

std::string At(const SstSource& source, const BlockHandle& handle) {
  return source.Name() + ": offset " + std::to_string(handle.offset) + ": ";
}

// Reads a block with its trailer. The handle is checked first, so that nothing
// larger than the file is allocated.
std::string ReadStored(const SstSource& source, const SstFile& file,
                       const BlockHandle& handle, std::string* stored) {
  const std::string error = CheckHandle(file, handle);
  if (!error.empty()) return At(source, handle) + error;
  stored->resize(handle.size + kBlockTrailerSize);
  return source.Read(handle.offset, stored->size(), stored->data());
}

bool ChecksumHolds(const SstFile& file, const std::string& stored) {
  const size_t checked = stored.size() - 4;
  return BlockChecksum(file.checksum, {stored.data(), checked}) ==
         LoadFixed32(stored.data() + checked);
}

std::string ChecksumError(const SstSource& source, const SstFile& file,
                          const BlockHandle& handle) {
  return At(source, handle) + "expected a block of " +
         std::to_string(handle.size) + " bytes whose checksum (" +
         ChecksumName(file.checksum) + ") holds, found one that does not";
}

// Takes the trailer off and undoes the compression. Of the blocks that this
// walk reads only LevelDB's metaindex can be compressed, and only by Snappy.
std::string Unpack(const SstSource& source, const BlockHandle& handle,
                   std::string* block) {
  const auto compression = static_cast<uint8_t>((*block)[handle.size]);
  block->resize(handle.size);
  if (compression == kNoCompression) return {};
  if (compression != kSnappy) {
    return At(source, handle) +
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
    return At(source, handle) +
           "expected a block compressed by Snappy, found bytes that Snappy "
           "cannot decompress";
  }
  *block = std::move(unpacked);
  return {};
}

// Where RocksDB keeps the sequence number of a file that was ingested: it is
// written over zeros after the checksum of the properties was.
std::string_view FindGlobalSequenceNumber(std::string_view properties) {
  std::string_view found;
  ForEachEntry(properties, true,
               [&found](std::string_view key, bool, Cursor* value) {
                 if (key == kGlobalSequenceNumber && value->Left() == 8) {
                   value->Bytes(8, &found);
                 }
                 return std::string();
               });
  return found;
}

std::string ReadProperties(const SstSource& source, const BlockHandle& handle,
                           SstFile* file) {
  std::string stored;
  std::string error = ReadStored(source, *file, handle, &stored);
  if (!error.empty()) return error;
  if (!ChecksumHolds(*file, stored)) {
    const std::string_view number = FindGlobalSequenceNumber(
        std::string_view(stored).substr(0, handle.size));
    std::string as_written = stored;
    if (!number.empty()) {
      as_written.replace(static_cast<size_t>(number.data() - stored.data()),
                         number.size(), number.size(), '\0');
    }
    if (!ChecksumHolds(*file, as_written)) {
      return ChecksumError(source, *file, handle);
    }
  }
  error = Unpack(source, handle, &stored);
  if (!error.empty()) return error;
  error = ForEachEntry(stored, true,
                       [file](std::string_view key, bool, Cursor* value) {
                         std::string_view bytes;
                         value->Bytes(value->Left(), &bytes);
                         file->properties[std::string(key)] = bytes;
                         return std::string();
                       });
  if (!error.empty()) return At(source, handle) + "properties: " + error;
  return {};
}

// The difference of two sizes, small ones of either sign in few bytes.
uint64_t UnZigZag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

std::string ReadPartitions(const SstSource& source, const SstFile& file,
                           SstFilter* filter) {
  std::string index;
  std::string error = ReadBlock(source, file, filter->handle, &index);
  // A filter that no key came to has an index of no bytes.
  if (!error.empty() || index.empty()) return error;
  uint64_t delta_encoded = 0;
  file.Property(kDeltaEncodedName, &delta_encoded);

  BlockHandle handle;
  error = ForEachEntry(
      index, delta_encoded == 0,
      [&](std::string_view key, bool shares_key, Cursor* value) {
        uint64_t difference;
        if (delta_encoded == 0 || !shares_key) {
          if (!TakeHandle(value, &handle)) {
            return std::string("expected a handle, found no valid varint64");
          }
        } else if (value->Varint64(&difference)) {
          handle.offset += handle.size + kBlockTrailerSize;
          handle.size += UnZigZag(difference);
        } else {
          return std::string(
              "expected a difference of sizes, found no valid varint64");
        }
        if (delta_encoded == 0 && value->Left() > 0) {
          return "expected nothing behind a handle, found " +
                 std::to_string(value->Left()) + " bytes";
        }
        filter->partitions.push_back({std::string(key), handle});
        return CheckHandle(file, handle);
      });
  if (!error.empty()) {
    return At(source, filter->handle) + "partition index: " + error;
  }
  return {};
}

bool TakePrefix(std::string_view prefix, std::string_view* name) {
  if (name->substr(0, prefix.size()) != prefix) return false;
  name->remove_prefix(prefix.size());
  return true;
}

bool ScopeOfName(std::string_view* name, FilterScope* scope) {
  if (TakePrefix("filter.", name)) {
    *scope = FilterScope::kPerBlock;
  } else if (TakePrefix("fullfilter.", name)) {
    *scope = FilterScope::kFull;
  } else if (TakePrefix("partitionedfilter.", name)) {
    *scope = FilterScope::kPartitioned;
  } else {
    return false;
  }
  return true;
}

// Fills in file->filters, without partitions; *properties when there are any.
std::string ReadMetaindex(const SstSource& source, SstFile* file,
                          BlockHandle* properties, bool* has_properties) {
  std::string metaindex;
  std::string error = ReadBlock(source, *file, file->metaindex, &metaindex);
  if (!error.empty()) return error;
  error = ForEachEntry(
      metaindex, true, [&](std::string_view name, bool, Cursor* value) {
        SstFilter filter;
        if (!TakeHandle(value, &filter.handle) || value->Left() > 0) {
          return std::string("expected a handle, found other bytes");
        }
        const std::string outside = CheckHandle(*file, filter.handle);
        if (!outside.empty()) return outside;
        if (name == kPropertiesName) {
          *properties = filter.handle;
          *has_properties = true;
        } else if (ScopeOfName(&name, &filter.scope)) {
          filter.policy = name;
          file->filters.push_back(std::move(filter));
        }
        return std::string();
      });
  if (!error.empty())
    return At(source, file->metaindex) + "metaindex: " + error;
  return {};
}

}  // namespace

bool SstFile::Property(const std::string& name, uint64_t* value) const {
  const auto found = properties.find(name);
  if (found == properties.end()) return false;
  Cursor cursor(found->second);
  return cursor.Varint64(value) && cursor.Left() == 0;
}

std::string ReadBlock(const SstSource& source, const SstFile& file,
                      const BlockHandle& handle, std::string* contents) {
  const std::string error = ReadStored(source, file, handle, contents);
  if (!error.empty()) return error;
  if (!ChecksumHolds(file, *contents)) {
    return ChecksumError(source, file, handle);
  }
  return Unpack(source, handle, contents);
}

std::string WalkSst(const SstSource& source, SstFile* file) {
  *file = {};
  std::string error = ReadFooter(source, file);
  if (!error.empty()) return error;

  BlockHandle properties;
  bool has_properties = false;
  error = ReadMetaindex(source, file, &properties, &has_properties);
  if (!error.empty()) return error;
  if (has_properties) {
    error = ReadProperties(source, properties, file);
    if (!error.empty()) return error;
  }
  for (SstFilter& filter : file->filters) {
    if (filter.scope != FilterScope::kPartitioned) continue;
    error = ReadPartitions(source, *file, &filter);
    if (!error.empty()) return error;
  }

  std::string index;
  error = ReadStored(source, *file, file->index, &index);
  if (error.empty() && !ChecksumHolds(*file, index)) {
    error = ChecksumError(source, *file, file->index);
  }
  return error;
}

}  // namespace deltabloom::internal
