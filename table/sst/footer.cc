#include "table/sst/footer.h"

#include <algorithm>

#include "table/sst/block.h"
#include "table/sst/read_block.h"
#include "util/coding.h"

namespace deltabloom::internal {
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
    return "expected zeros behind the handles, found other bytes";
  }
  std::string error = CheckHandle(*file, file->metaindex);
  if (!error.empty()) return "metaindex: " + error;
  error = CheckHandle(*file, file->index);
  if (!error.empty()) return "index: " + error;
  return {};
}

// The footer from kFirstExtendedVersion on, which checks itself and finds the
// metaindex right in front of it. It does not tell the index.
std::string DecodeExtended(std::string_view footer, SstFile* file) {
  const auto number = [&footer](size_t at) {
    return LoadFixed32(footer.data() + at);
  };
  if (number(1) != kExtendedMagic) {
    return "expected the bytes 3e 00 7a 00 behind the checksum type, found "
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

std::string ReadFooter(const SstSource& source, SstFile* file) {
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

}  // namespace deltabloom::internal
