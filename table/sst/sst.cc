#include "table/sst/sst.h"

#include <snappy.h>

#include <algorithm>

#include "util/coding.h"

namespace deltabloom::internal {

// --- Blocks ----------------------------------------------------------------

bool TakeHandle(Cursor* cursor, BlockHandle* handle) {
  return cursor->Varint64(&handle->offset) && cursor->Varint64(&handle->size);
}

std::string CheckHandle(const SstFile& file, const BlockHandle& handle) {
  const uint64_t end = file.footer_offset;
  if (handle.size <= end && kBlockTrailerSize <= end - handle.size &&
      handle.offset <= end - handle.size - kBlockTrailerSize) {
    return {};
  }
  return "expected a block that ends before the footer at " +
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

namespace {

enum Compression : uint8_t { kNoCompression = 0, kSnappy = 1 };

}  // namespace

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

// --- Properties ------------------------------------------------------------

namespace {

constexpr std::string_view kGlobalSequenceNumber =
    "rocksdb.external_sst_file.global_seqno";

// Of several properties of one name the last one counts, as in RocksDB.
bool Find(std::string_view block, std::string_view name,
          std::string_view* value) {
  bool found = false;
  ForEachEntry(block, true, [&](std::string_view key, bool, Cursor* bytes) {
    if (key == name) found = bytes->Bytes(bytes->Left(), value);
    return std::string();
  });
  return found;
}

}  // namespace

std::string SstProperties::Parse(std::string block) {
  std::string error = ForEachEntry(
      block, true,
      [](std::string_view, bool, Cursor*) { return std::string(); });
  block_.clear();
  if (error.empty()) block_ = std::move(block);
  return error;
}

bool SstProperties::Text(std::string_view name, std::string_view* value) const {
  return Find(block_, name, value);
}

bool SstProperties::Number(std::string_view name, uint64_t* value) const {
  std::string_view text;
  if (!Find(block_, name, &text)) return false;
  Cursor cursor(text);
  return cursor.Varint64(value) && cursor.Left() == 0;
}

std::string_view FindGlobalSequenceNumber(std::string_view block) {
  std::string_view number;
  if (!Find(block, kGlobalSequenceNumber, &number) || number.size() != 8) {
    return {};
  }
  return number;
}

// --- Footer ----------------------------------------------------------------

namespace {

constexpr uint64_t kLevelDBMagic = 0xdb4775248b80fb57;
constexpr uint64_t kBlockBasedMagic = 0x88e241b785f4cff7;

constexpr uint32_t kLastFormatVersion = 7;

// Two handles, filled up with zeros to their greatest length; or, from
// kFirstExtendedVersion on, the fields of DecodeExtended.
constexpr size_t kHandlesSize = 40;
constexpr uint32_t kFirstExtendedVersion = 6;
constexpr uint32_t kExtendedMagic = 0x007a003e;
constexpr size_t kMagicSize = 8;
constexpr size_t kVersionSize = 4;
constexpr size_t kOldFooterSize = kHandlesSize + kMagicSize;
constexpr size_t kNewFooterSize = 1 + kHandlesSize + kVersionSize + kMagicSize;

std::string Hex(uint64_t value) {
  std::string text = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) {
    text += "0123456789abcdef"[value >> shift & 15];
  }
  return text;
}

const char* NameOfOtherMagic(uint64_t magic) {
  switch (magic) {
    case 0x8242229663bf9564:
    case 0x4f3418eb7a8f13b8:
      return ", RocksDB's plain table, which has no filter block";
    case 0x926789d0c5f17873:
      return ", RocksDB's cuckoo table, which has no filter block";
    default:
      return "";
  }
}

// The kind and the size of the footer, from the bytes at its end.
std::string DecodeMagic(std::string_view tail, SstFile* file, size_t* size) {
  const char* end = tail.data() + tail.size();
  const uint64_t magic = LoadFixed64(end - kMagicSize);
  if (magic == kLevelDBMagic) {
    file->format_version = 0;
    file->checksum = ChecksumType::kCrc32c;
    *size = kOldFooterSize;
    return {};
  }
  if (magic != kBlockBasedMagic) {
    return "expected the magic number of a LevelDB table or of a RocksDB "
           "block-based table, found " +
           Hex(magic) + NameOfOtherMagic(magic);
  }
  file->format_version = LoadFixed32(end - kMagicSize - kVersionSize);
  if (file->format_version < 1 || file->format_version > kLastFormatVersion) {
    return "expected format_version 1 to " +
           std::to_string(kLastFormatVersion) + ", found " +
           std::to_string(file->format_version);
  }
  if (tail.size() < kNewFooterSize) {
    return "expected a footer of " + std::to_string(kNewFooterSize) +
           " bytes, found " + std::to_string(tail.size());
  }
  const auto type =
      static_cast<uint8_t>(end[-static_cast<int>(kNewFooterSize)]);
  if (type > kLastChecksumType) {
    return "expected a checksum type of 0 to " +
           std::to_string(kLastChecksumType) + ", found " +
           std::to_string(type);
  }
  file->checksum = static_cast<ChecksumType>(type);
  *size = kNewFooterSize;
  return {};
}

std::string DecodeHandles(std::string_view handles, SstFile* file) {
  Cursor cursor(handles);
  if (!TakeHandle(&cursor, &file->metaindex) ||
      !TakeHandle(&cursor, &file->index)) {
    return "expected the handles of metaindex and index, found no valid "
           "varint64";
  }
  handles.remove_prefix(handles.size() - cursor.Left());
  if (handles.find_first_not_of('\0') != std::string_view::npos) {
    return "expected zeros after the handles, found other bytes";
  }
  std::string error = CheckHandle(*file, file->metaindex);
  if (!error.empty()) return "metaindex: " + error;
  error = CheckHandle(*file, file->index);
  if (!error.empty()) return "index: " + error;
  return {};
}

// The footer from kFirstExtendedVersion on, which checks itself and finds the
// metaindex directly before it. It does not give the index.
std::string DecodeExtended(std::string_view footer, SstFile* file) {
  const auto number = [&footer](size_t at) {
    return LoadFixed32(footer.data() + at);
  };
  if (number(1) != kExtendedMagic) {
    return "expected the bytes 3e 00 7a 00 after the checksum type, found "
           "others";
  }
  file->checksum_base = number(9);
  if (file->checksum_base == 0) {
    return "expected a base of context checksums other than 0, found 0";
  }
  std::string cleared(footer);
  cleared.replace(5, 4, 4, '\0');
  if (BlockChecksum(file->checksum, cleared) +
          ChecksumContext(file->checksum_base, file->footer_offset) !=
      number(5)) {
    return std::string("expected a footer whose checksum (") +
           ChecksumName(file->checksum) + ") holds, found one that does not";
  }
  if (LoadFixed64(footer.data() + 33) != 0) {
    return "expected zeros in the last 8 reserved bytes, found a feature of a "
           "later version";
  }
  const uint64_t size = number(13) + kBlockTrailerSize;
  if (size > file->footer_offset) {
    return "expected a metaindex of at most " +
           std::to_string(file->footer_offset) +
           " bytes with its trailer, found " + std::to_string(size);
  }
  file->metaindex = {file->footer_offset - size, size - kBlockTrailerSize};
  return {};
}

}  // namespace

bool IndexIsInMetaindex(const SstFile& file) {
  return file.format_version >= kFirstExtendedVersion;
}

// Fills in everything of *file that the footer gives; its handles are checked.
static std::string ReadFooter(const SstSource& source, SstFile* file) {
  if (source.Size() < kOldFooterSize) {
    return At(source, 0) + "expected a table of at least " +
           std::to_string(kOldFooterSize) + " bytes, found " +
           std::to_string(source.Size());
  }
  std::string tail(std::min<uint64_t>(source.Size(), kNewFooterSize), '\0');
  std::string error =
      source.Read(source.Size() - tail.size(), tail.size(), tail.data());
  if (!error.empty()) return error;

  size_t footer_size = 0;
  error = DecodeMagic(tail, file, &footer_size);
  if (!error.empty()) {
    return At(source, source.Size() - std::min(tail.size(), kNewFooterSize)) +
           "footer: " + error;
  }
  file->footer_offset = source.Size() - footer_size;
  const auto footer = std::string_view(tail).substr(tail.size() - footer_size);
  if (IndexIsInMetaindex(*file)) {
    error = DecodeExtended(footer, file);
  } else {
    error = DecodeHandles(
        footer.substr(footer_size == kNewFooterSize ? 1 : 0, kHandlesSize),
        file);
  }
  if (!error.empty())
    return At(source, file->footer_offset) + "footer: " + error;
  return {};
}

// --- Partitions ------------------------------------------------------------

namespace {

// The difference of two sizes, small ones of either sign in few bytes.
uint64_t UnZigZag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

// The handle of an entry, from its value and the handle before.
std::string TakePartition(bool delta_encoded, bool shares_key, Cursor* value,
                          BlockHandle* handle) {
  uint64_t difference;
  if (!delta_encoded || !shares_key) {
    if (!TakeHandle(value, handle)) {
      return "expected a handle, found no valid varint64";
    }
  } else if (value->Varint64(&difference)) {
    handle->offset += handle->size + kBlockTrailerSize;
    handle->size += UnZigZag(difference);
  } else {
    return "expected a difference of sizes, found no valid varint64";
  }
  if (!delta_encoded && value->Left() > 0) {
    return "expected nothing after a handle, found " +
           std::to_string(value->Left()) + " bytes";
  }
  return {};
}

}  // namespace

std::string ForEachPartition(const SstSource& source, const SstFile& file,
                             const SstFilter& filter, const PartitionFn& fn) {
  std::string index;
  std::string error = ReadBlock(source, file, filter.handle, &index);
  // A filter that no key came to has an index of no bytes.
  if (!error.empty() || index.empty()) return error;
  uint64_t delta_encoded = 0;
  file.properties.Number("rocksdb.index.value.is.delta.encoded",
                         &delta_encoded);
  BlockHandle handle;
  error =
      ForEachEntry(index, delta_encoded == 0,
                   [&](std::string_view key, bool shares_key, Cursor* value) {
                     std::string wrong = TakePartition(
                         delta_encoded != 0, shares_key, value, &handle);
                     if (wrong.empty()) wrong = CheckHandle(file, handle);
                     return wrong.empty() ? fn(key, handle) : wrong;
                   });
  if (!error.empty()) {
    return At(source, filter.handle.offset) + "partition index: " + error;
  }
  return {};
}

// --- Metaindex and filters -------------------------------------------------

namespace {

constexpr char kPropertiesName[] = "rocksdb.properties";
constexpr char kIndexName[] = "rocksdb.index";

// What may still be found. Filters do not overlap, so that all of them fit into
// the file; and their names, which share prefixes in the metaindex, must not
// become more than the two are long. Both bound the memory and the time that a
// file can cost.
struct Budget {
  uint64_t filter_bytes = 0;
  uint64_t name_bytes = 0;
};

std::string Take(uint64_t bytes, const char* what, uint64_t* left) {
  if (bytes > *left) {
    return std::string("expected ") + what + " of at most " +
           std::to_string(*left) + " more bytes in this file, found " +
           std::to_string(bytes);
  }
  *left -= bytes;
  return {};
}

std::string TakeFilter(const BlockHandle& handle, Budget* budget) {
  return Take(handle.size + kBlockTrailerSize, "filters",
              &budget->filter_bytes);
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

// Where the metaindex says that blocks are, other than filters.
struct OtherBlocks {
  BlockHandle properties;
  bool has_properties = false;
  bool has_index = false;
};

std::string TakeEntry(std::string_view name, Cursor* value, SstFile* file,
                      OtherBlocks* others, Budget* budget) {
  SstFilter filter;
  if (!TakeHandle(value, &filter.handle) || value->Left() > 0) {
    return "expected a handle, found other bytes";
  }
  std::string error = CheckHandle(*file, filter.handle);
  if (!error.empty()) return error;
  if (name == kPropertiesName) {
    others->properties = filter.handle;
    others->has_properties = true;
  } else if (name == kIndexName && IndexIsInMetaindex(*file)) {
    file->index = filter.handle;
    others->has_index = true;
  } else if (ScopeOfName(&name, &filter.scope)) {
    error = TakeFilter(filter.handle, budget);
    if (error.empty()) {
      error = Take(name.size(), "names of filters", &budget->name_bytes);
    }
    if (!error.empty()) return error;
    filter.policy = name;
    filter.bytes = filter.handle.size;
    file->filters.push_back(std::move(filter));
  }
  return {};
}

// Fills in file->filters, without partitions.
std::string ReadMetaindex(const SstSource& source, SstFile* file,
                          OtherBlocks* others, Budget* budget) {
  std::string metaindex;
  std::string error = ReadBlock(source, *file, file->metaindex, &metaindex);
  if (!error.empty()) return error;
  budget->name_bytes = source.Size() + metaindex.size();
  error = ForEachEntry(metaindex, true,
                       [&](std::string_view name, bool, Cursor* value) {
                         return TakeEntry(name, value, file, others, budget);
                       });
  if (error.empty() && IndexIsInMetaindex(*file) && !others->has_index) {
    error = std::string("expected the name ") + kIndexName + ", found none";
  }
  if (!error.empty()) {
    return At(source, file->metaindex.offset) + "metaindex: " + error;
  }
  return {};
}

std::string ReadProperties(const SstSource& source, const BlockHandle& handle,
                           SstFile* file) {
  std::string stored;
  std::string error = ReadStored(source, *file, handle, &stored);
  if (!error.empty()) return error;
  if (!ChecksumHolds(*file, handle.offset, stored)) {
    const std::string_view number = FindGlobalSequenceNumber(
        std::string_view(stored).substr(0, handle.size));
    std::string as_written = stored;
    if (!number.empty()) {
      as_written.replace(static_cast<size_t>(number.data() - stored.data()),
                         number.size(), number.size(), '\0');
    }
    if (!ChecksumHolds(*file, handle.offset, as_written)) {
      return ChecksumError(source, *file, handle);
    }
  }
  error = Unpack(source, handle, &stored);
  if (!error.empty()) return error;
  error = file->properties.Parse(std::move(stored));
  if (!error.empty()) {
    return At(source, handle.offset) + "properties: " + error;
  }
  return {};
}

std::string CountPartitions(const SstSource& source, const SstFile& file,
                            SstFilter* filter, Budget* budget) {
  filter->bytes = 0;
  return ForEachPartition(source, file, *filter,
                          [&](std::string_view, const BlockHandle& handle) {
                            ++filter->partitions;
                            filter->bytes += handle.size;
                            return TakeFilter(handle, budget);
                          });
}

}  // namespace

const char* ScopeName(FilterScope scope) {
  switch (scope) {
    case FilterScope::kPerBlock:
      return "per-block";
    case FilterScope::kFull:
      return "full";
    case FilterScope::kPartitioned:
      return "partitioned";
  }
  return "unknown";
}

std::string FindFilters(const SstSource& source, SstFile* file) {
  *file = {};
  std::string error = ReadFooter(source, file);
  if (!error.empty()) return error;

  OtherBlocks others;
  Budget budget;
  budget.filter_bytes = file->footer_offset;
  error = ReadMetaindex(source, file, &others, &budget);
  if (!error.empty()) return error;
  if (others.has_properties) {
    error = ReadProperties(source, others.properties, file);
    if (!error.empty()) return error;
  }
  for (SstFilter& filter : file->filters) {
    if (filter.scope != FilterScope::kPartitioned) continue;
    error = CountPartitions(source, *file, &filter, &budget);
    if (!error.empty()) return error;
  }
  return {};
}

std::string WalkSst(const SstSource& source, SstFile* file) {
  std::string error = FindFilters(source, file);
  if (!error.empty()) return error;
  std::string index;
  error = ReadStored(source, *file, file->index, &index);
  if (error.empty() && !ChecksumHolds(*file, file->index.offset, index)) {
    error = ChecksumError(source, *file, file->index);
  }
  return error;
}

}  // namespace deltabloom::internal
