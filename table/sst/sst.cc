#include "table/sst/sst.h"

#include <fcntl.h>
#include <snappy.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iomanip>
#include <locale>
#include <sstream>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/coding.h"

namespace deltabloom::internal {

namespace {

template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  return text.str();
}

}  // namespace

// --- Files -----------------------------------------------------------------

namespace {

class FileSource : public SstSource {
 public:
  FileSource(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const std::string& Name() const override { return path_; }
  uint64_t Size() const override { return size_; }
  void set_size(uint64_t size) { size_ = size; }

  std::string Read(uint64_t offset, size_t n, char* dst) const override {
    while (n > 0) {
      const ssize_t got =
          ::pread(descriptor_, dst, n, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        return Concat(
            At(*this, offset), "cannot read ", n, " bytes: ",
            got < 0 ? std::strerror(errno) : "the file has become shorter");
      }
      dst += got;
      offset += static_cast<uint64_t>(got);
      n -= static_cast<size_t>(got);
    }
    return {};
  }

 private:
  const std::string path_;
  const int descriptor_;
  uint64_t size_ = 0;
};

const char* KindName(mode_t mode) {
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISCHR(mode)  ? "a character device"
         : S_ISBLK(mode)  ? "a block device"
                          : "something else";
}

}  // namespace

std::unique_ptr<SstSource> OpenSstFile(const std::string& path,
                                       std::string* error) {
  const auto other_kind = [&](const struct stat& status) {
    *error = path + ": expected a file, found " + KindName(status.st_mode);
    return nullptr;
  };
  const auto failed = [&] {
    *error = path + ": cannot be opened: " + std::strerror(errno);
    return nullptr;
  };
  // Looked at first: opening a device can do things, and a FIFO would block.
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return failed();
  if (!S_ISREG(status.st_mode)) return other_kind(status);
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return failed();
  auto source = std::make_unique<FileSource>(path, descriptor);
  if (::fstat(descriptor, &status) != 0) return failed();
  if (!S_ISREG(status.st_mode)) return other_kind(status);
  source->set_size(static_cast<uint64_t>(status.st_size));
  return source;
}

// --- Entries and checksums -------------------------------------------------

namespace {

// The entries without the array of restart points after them, whose offsets
// must ascend and lie within the entries.
std::string FindEntries(std::string_view block, std::string_view* entries) {
  if (block.size() < 8) {
    return Concat("expected at least 8 bytes, found ", block.size());
  }
  const uint64_t restarts = LoadFixed32(block.data() + block.size() - 4);
  if (restarts == 0 || 4 * (restarts + 1) > block.size()) {
    return Concat("expected 1 to ", block.size() / 4 - 1,
                  " restart points, found ", restarts);
  }
  const size_t end = block.size() - 4 * (restarts + 1);
  uint32_t last = 0;
  for (size_t i = 0; i < restarts; ++i) {
    const uint32_t restart = LoadFixed32(block.data() + end + 4 * i);
    if (restart < last || restart > end || (i == 0 && restart != 0)) {
      const std::string range = i == 0 ? "0" : Concat(last, " to ", end);
      return Concat("restart point ", i, ": expected ", range, ", found ",
                    restart);
    }
    last = restart;
  }
  *entries = block.substr(0, end);
  return {};
}

// Takes one entry and calls fn for it; `key` is the key before.
std::string TakeBlockEntry(Cursor* cursor, bool sized_values, std::string* key,
                           const EntryFn& fn) {
  uint32_t shared;
  uint32_t unshared;
  uint32_t value_size = 0;
  if (!cursor->Varint32(&shared) || !cursor->Varint32(&unshared) ||
      (sized_values && !cursor->Varint32(&value_size))) {
    return "expected the sizes of a key, found no valid varint32";
  }
  if (shared > key->size()) {
    return Concat("expected at most ", key->size(),
                  " bytes shared with the key before, found ", shared);
  }
  std::string_view bytes;
  if (!cursor->Bytes(unshared, &bytes)) {
    return Concat("expected a key of ", unshared, " more bytes, found ",
                  cursor->Left());
  }
  key->resize(shared);
  key->append(bytes);
  if (!sized_values) return fn(*key, shared != 0, cursor);
  if (!cursor->Bytes(value_size, &bytes)) {
    return Concat("expected a value of ", value_size, " bytes, found ",
                  cursor->Left());
  }
  Cursor value(bytes);
  return fn(*key, shared != 0, &value);
}

// Both engines store CRCs rotated and shifted, because the CRC of bytes that
// contain their own CRC says little.
uint32_t MaskedCrc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli, bits reflected
    std::array<uint32_t, 256> remainders{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) {
        crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
      }
      remainders[byte] = crc;
    }
    return remainders;
  }();
  uint32_t crc = ~uint32_t{0};
  for (char byte : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace

bool Cursor::Varint64(uint64_t* value) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 10 && i < bytes_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes_[i]);
    if (i == 9 && byte > 1) return false;
    result |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      if (byte == 0 && i > 0) return false;  // longer than it needs to be
      bytes_.remove_prefix(i + 1);
      *value = result;
      return true;
    }
  }
  return false;
}

bool Cursor::Varint32(uint32_t* value) {
  Cursor rest = *this;
  uint64_t wide;
  if (!rest.Varint64(&wide) || wide > UINT32_MAX) return false;
  *this = rest;
  *value = static_cast<uint32_t>(wide);
  return true;
}

bool Cursor::Bytes(uint64_t n, std::string_view* value) {
  if (n > bytes_.size()) return false;
  *value = bytes_.substr(0, n);
  bytes_.remove_prefix(n);
  return true;
}

std::string ForEachEntry(std::string_view block, bool sized_values,
                         const EntryFn& fn) {
  std::string_view entries;
  std::string error = FindEntries(block, &entries);
  Cursor cursor(entries);
  std::string key;
  while (error.empty() && cursor.Left() > 0) {
    const size_t start = entries.size() - cursor.Left();
    error = TakeBlockEntry(&cursor, sized_values, &key, fn);
    if (!error.empty()) {
      error = Concat("entry at byte ", start, ": ", error);
    }
  }
  return error;
}

const char* ChecksumName(ChecksumType type) {
  static constexpr const char* kNames[] = {"none", "CRC32c", "xxHash",
                                           "xxHash64", "XXH3"};
  return kNames[static_cast<uint8_t>(type)];
}

uint32_t BlockChecksum(ChecksumType type, std::string_view block) {
  switch (type) {
    case ChecksumType::kNone:
      return 0;
    case ChecksumType::kCrc32c:
      return MaskedCrc32c(block);
    case ChecksumType::kXxHash:
      return XXH32(block.data(), block.size(), 0);
    case ChecksumType::kXxHash64:
      return static_cast<uint32_t>(XXH64(block.data(), block.size(), 0));
    case ChecksumType::kXxh3:
      // The last byte enters by a multiplication, not by the hash.
      return static_cast<uint32_t>(
                 XXH3_64bits(block.data(), block.size() - 1)) ^
             static_cast<unsigned char>(block.back()) * 0x6b9083d9u;
  }
  return 0;
}

uint32_t ChecksumContext(uint32_t base, uint64_t offset) {
  if (base == 0) return 0;
  return base ^ static_cast<uint32_t>(offset + (offset >> 32));
}

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
  return Concat("expected a block that ends before the footer at ", end,
                ", found a handle to ", handle.size, " bytes at ",
                handle.offset);
}

std::string At(const SstSource& source, uint64_t offset) {
  return Concat(source.Name(), ": offset ", offset, ": ");
}

namespace {

// The error, if there is one, of a part of the file.
std::string Located(const SstSource& source, uint64_t offset, const char* part,
                    const std::string& error) {
  return error.empty() ? error : At(source, offset) + part + error;
}

// Reads a block with its trailer. The handle is checked first, so that nothing
// larger than the file is allocated.
std::string ReadStored(const SstSource& source, const SstFile& file,
                       const BlockHandle& handle, std::string* stored) {
  std::string error = CheckHandle(file, handle);
  if (!error.empty()) return Located(source, handle.offset, "", error);
  stored->resize(handle.size + kBlockTrailerSize);
  return source.Read(handle.offset, stored->size(), stored->data());
}

bool ChecksumHolds(const SstFile& file, const BlockHandle& handle,
                   const std::string& stored) {
  const size_t checked = stored.size() - 4;
  return BlockChecksum(file.checksum, {stored.data(), checked}) +
             ChecksumContext(file.checksum_base, handle.offset) ==
         LoadFixed32(stored.data() + checked);
}

std::string VerifyChecksum(const SstSource& source, const SstFile& file,
                           const BlockHandle& handle,
                           const std::string& stored) {
  if (ChecksumHolds(file, handle, stored)) return {};
  return Concat(At(source, handle.offset), "expected a block of ", handle.size,
                " bytes whose checksum (", ChecksumName(file.checksum),
                ") holds, found one that does not");
}

// Takes the trailer off what ReadStored gave, and undoes the compression. Of
// the blocks that a walk reads only LevelDB's metaindex can be compressed, and
// only by Snappy.
std::string Unpack(const SstSource& source, const BlockHandle& handle,
                   std::string* block) {
  enum Compression : uint8_t { kNone = 0, kSnappy = 1 };
  const auto compression = static_cast<uint8_t>((*block)[handle.size]);
  block->resize(handle.size);
  if (compression == kNone) return {};
  if (compression != kSnappy) {
    return Concat(At(source, handle.offset),
                  "expected a block that is not compressed (0) or compressed "
                  "by Snappy (1), found compression ",
                  unsigned{compression});
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

}  // namespace

std::string ReadBlock(const SstSource& source, const SstFile& file,
                      const BlockHandle& handle, std::string* contents) {
  std::string error = ReadStored(source, file, handle, contents);
  if (error.empty()) error = VerifyChecksum(source, file, handle, *contents);
  return error.empty() ? Unpack(source, handle, contents) : error;
}

// --- Properties ------------------------------------------------------------

namespace {

constexpr std::string_view kPropertiesName = "rocksdb.properties";
constexpr char kIndexName[] = "rocksdb.index";
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

const char* NameOfOtherMagic(uint64_t magic) {
  if (magic == 0x8242229663bf9564 || magic == 0x4f3418eb7a8f13b8) {
    return ", RocksDB's plain table, which has no filter block";
  }
  return magic == 0x926789d0c5f17873
             ? ", RocksDB's cuckoo table, which has no filter block"
             : "";
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
    return Concat(
        "expected the magic number of a LevelDB table or of a "
        "RocksDB block-based table, found 0x",
        std::hex, std::setw(16), std::setfill('0'), magic,
        NameOfOtherMagic(magic));
  }
  file->format_version = LoadFixed32(end - kMagicSize - kVersionSize);
  if (file->format_version < 1 || file->format_version > kLastFormatVersion) {
    return Concat("expected format_version 1 to ", kLastFormatVersion,
                  ", found ", file->format_version);
  }
  if (tail.size() < kNewFooterSize) {
    return Concat("expected a footer of ", kNewFooterSize, " bytes, found ",
                  tail.size());
  }
  const auto type =
      static_cast<uint8_t>(end[-static_cast<int>(kNewFooterSize)]);
  if (type > kLastChecksumType) {
    return Concat("expected a checksum type of 0 to ",
                  unsigned{kLastChecksumType}, ", found ", unsigned{type});
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
  return error.empty() ? error : "index: " + error;
}

// The footer from kFirstExtendedVersion on, which checks itself and finds the
// metaindex directly before it. It does not give the index.
std::string DecodeExtended(std::string footer, SstFile* file) {
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
  const uint32_t checksum = number(5);
  footer.replace(5, 4, 4, '\0');
  if (BlockChecksum(file->checksum, footer) +
          ChecksumContext(file->checksum_base, file->footer_offset) !=
      checksum) {
    return std::string("expected a footer whose checksum (") +
           ChecksumName(file->checksum) + ") holds, found one that does not";
  }
  if (LoadFixed64(footer.data() + 33) != 0) {
    return "expected zeros in the last 8 reserved bytes, found a feature of a "
           "later version";
  }
  const uint64_t size = number(13) + kBlockTrailerSize;
  if (size > file->footer_offset) {
    return Concat("expected a metaindex of at most ", file->footer_offset,
                  " bytes with its trailer, found ", size);
  }
  file->metaindex = {file->footer_offset - size, size - kBlockTrailerSize};
  return {};
}

// Whether the metaindex gives the handle of the index, and not the footer.
bool IndexIsInMetaindex(const SstFile& file) {
  return file.format_version >= kFirstExtendedVersion;
}

// Fills in everything of *file that the footer gives; its handles are checked.
std::string ReadFooter(const SstSource& source, SstFile* file) {
  if (source.Size() < kOldFooterSize) {
    return Concat(At(source, 0), "expected a table of at least ",
                  kOldFooterSize, " bytes, found ", source.Size());
  }
  std::string tail(std::min<uint64_t>(source.Size(), kNewFooterSize), '\0');
  const uint64_t tail_offset = source.Size() - tail.size();
  std::string error = source.Read(tail_offset, tail.size(), tail.data());
  if (!error.empty()) return error;
  size_t footer_size = 0;
  error = DecodeMagic(tail, file, &footer_size);
  if (!error.empty()) return Located(source, tail_offset, "footer: ", error);
  file->footer_offset = source.Size() - footer_size;
  const std::string footer = tail.substr(tail.size() - footer_size);
  error = IndexIsInMetaindex(*file)
              ? DecodeExtended(footer, file)
              : DecodeHandles(
                    std::string_view(footer).substr(
                        footer_size == kNewFooterSize ? 1 : 0, kHandlesSize),
                    file);
  return Located(source, file->footer_offset, "footer: ", error);
}

}  // namespace

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
    return Concat("expected nothing after a handle, found ", value->Left(),
                  " bytes");
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
  const auto take = [&](std::string_view key, bool shares_key, Cursor* value) {
    std::string wrong =
        TakePartition(delta_encoded != 0, shares_key, value, &handle);
    if (wrong.empty()) wrong = CheckHandle(file, handle);
    return wrong.empty() ? fn(key, handle) : wrong;
  };
  error = ForEachEntry(index, delta_encoded == 0, take);
  return Located(source, filter.handle.offset, "partition index: ", error);
}

// --- Metaindex and filters -------------------------------------------------

namespace {

// What a metaindex gives besides filters, and what may still be found. Filters
// do not overlap, so that all of them fit into the file; and their names, which
// share prefixes in the metaindex, must not become more than the two are long.
// Both bound the memory and the time that a file can cost.
struct Metaindex {
  BlockHandle properties;
  bool has_properties = false;
  bool has_index = false;
  uint64_t filter_bytes_left = 0;
  uint64_t name_bytes_left = 0;
};

std::string Take(uint64_t bytes, const char* what, uint64_t* left) {
  if (bytes > *left) {
    return Concat("expected ", what, " of at most ", *left,
                  " more bytes in this file, found ", bytes);
  }
  *left -= bytes;
  return {};
}

std::string TakeFilter(const BlockHandle& handle, Metaindex* metaindex) {
  return Take(handle.size + kBlockTrailerSize, "filters",
              &metaindex->filter_bytes_left);
}

std::string TakeEntry(std::string_view name, Cursor* value, SstFile* file,
                      Metaindex* metaindex) {
  static constexpr std::pair<std::string_view, FilterScope> kPrefixes[] = {
      {"filter.", FilterScope::kPerBlock},
      {"fullfilter.", FilterScope::kFull},
      {"partitionedfilter.", FilterScope::kPartitioned}};
  BlockHandle handle;
  if (!TakeHandle(value, &handle) || value->Left() > 0) {
    return "expected a handle, found other bytes";
  }
  std::string error = CheckHandle(*file, handle);
  if (!error.empty()) return error;
  if (name == kPropertiesName) {
    metaindex->properties = handle;
    metaindex->has_properties = true;
  } else if (name == kIndexName && IndexIsInMetaindex(*file)) {
    file->index = handle;
    metaindex->has_index = true;
  }
  for (const auto& [prefix, scope] : kPrefixes) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    name.remove_prefix(prefix.size());
    error = TakeFilter(handle, metaindex);
    if (error.empty()) {
      error =
          Take(name.size(), "names of filters", &metaindex->name_bytes_left);
    }
    if (!error.empty()) return error;
    file->filters.push_back({scope, std::string(name), handle, 0, handle.size});
    break;
  }
  return {};
}

// Fills in file->filters, without partitions.
std::string ReadMetaindex(const SstSource& source, SstFile* file,
                          Metaindex* metaindex) {
  std::string block;
  std::string error = ReadBlock(source, *file, file->metaindex, &block);
  if (!error.empty()) return error;
  metaindex->name_bytes_left = source.Size() + block.size();
  error = ForEachEntry(block, true,
                       [&](std::string_view name, bool, Cursor* value) {
                         return TakeEntry(name, value, file, metaindex);
                       });
  if (error.empty() && IndexIsInMetaindex(*file) && !metaindex->has_index) {
    error = std::string("expected the name ") + kIndexName + ", found none";
  }
  return Located(source, file->metaindex.offset, "metaindex: ", error);
}

std::string ReadProperties(const SstSource& source, const BlockHandle& handle,
                           SstFile* file) {
  std::string stored;
  std::string error = ReadStored(source, *file, handle, &stored);
  if (!error.empty()) return error;
  // RocksDB writes the sequence number of a file that it takes in over zeros,
  // after the checksum of the block was made.
  std::string as_written = stored;
  std::string_view number;
  if (!ChecksumHolds(*file, handle, stored) &&
      Find(std::string_view(stored).substr(0, handle.size),
           kGlobalSequenceNumber, &number) &&
      number.size() == 8) {
    as_written.replace(static_cast<size_t>(number.data() - stored.data()), 8, 8,
                       '\0');
  }
  error = VerifyChecksum(source, *file, handle, as_written);
  if (error.empty()) error = Unpack(source, handle, &stored);
  if (!error.empty()) return error;
  return Located(source, handle.offset,
                 "properties: ", file->properties.Parse(std::move(stored)));
}

}  // namespace

const char* ScopeName(FilterScope scope) {
  static constexpr const char* kNames[] = {"per-block", "full", "partitioned"};
  return kNames[static_cast<uint8_t>(scope)];
}

std::string FindFilters(const SstSource& source, SstFile* file) {
  *file = {};
  Metaindex metaindex;
  std::string error = ReadFooter(source, file);
  metaindex.filter_bytes_left = file->footer_offset;
  if (error.empty()) error = ReadMetaindex(source, file, &metaindex);
  if (error.empty() && metaindex.has_properties) {
    error = ReadProperties(source, metaindex.properties, file);
  }
  for (SstFilter& filter : file->filters) {
    if (filter.scope != FilterScope::kPartitioned || !error.empty()) continue;
    filter.bytes = 0;
    error = ForEachPartition(source, *file, filter,
                             [&](std::string_view, const BlockHandle& handle) {
                               ++filter.partitions;
                               filter.bytes += handle.size;
                               return TakeFilter(handle, &metaindex);
                             });
  }
  return error;
}

std::string WalkSst(const SstSource& source, SstFile* file) {
  std::string error = FindFilters(source, file);
  std::string index;
  if (error.empty()) error = ReadStored(source, *file, file->index, &index);
  return error.empty() ? VerifyChecksum(source, *file, file->index, index)
                       : error;
}

// --- Replacing filters -----------------------------------------------------

namespace {

// A handle in a block, as its value is stored there.
struct StoredHandle {
  BlockHandle handle;
  size_t at = 0;  // in the block
  size_t size = 0;
  bool is_delta = false;  // only the difference of sizes
};

void AppendVarint64(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) {
    bytes->push_back(static_cast<char>(value | 0x80));
  }
  bytes->push_back(static_cast<char>(value));
}

uint64_t ZigZag(uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}

std::string EncodeHandle(const BlockHandle& handle, bool is_delta,
                         const BlockHandle& last) {
  std::string value;
  if (!is_delta) AppendVarint64(handle.offset, &value);
  AppendVarint64(is_delta ? ZigZag(handle.size - last.size) : handle.size,
                 &value);
  return value;
}

// Compression and checksum of a block that is written at `offset`.
void AppendTrailer(const SstFile& file, uint64_t offset, size_t start,
                   std::string* bytes) {
  bytes->push_back(0);
  const uint32_t checksum =
      BlockChecksum(file.checksum, std::string_view(*bytes).substr(start)) +
      ChecksumContext(file.checksum_base, offset);
  bytes->resize(bytes->size() + 4);
  StoreFixed32(
      reinterpret_cast<unsigned char*>(bytes->data() + bytes->size() - 4),
      checksum);
}

// The block that has the handles of the filters, and these.
std::string FindHandles(const SstSource& source, const SstFile& file,
                        const SstFilter& filter, std::string* block,
                        std::vector<StoredHandle>* handles) {
  const bool partitioned = filter.scope == FilterScope::kPartitioned;
  const BlockHandle& of_block = partitioned ? filter.handle : file.metaindex;
  std::string error = ReadBlock(source, file, of_block, block);
  if (!error.empty()) return error;
  if (block->empty() || block->size() != of_block.size) {
    return At(source, of_block.offset) +
           "expected an uncompressed block with handles, found another";
  }
  uint64_t delta_encoded = 0;
  if (partitioned) {
    file.properties.Number("rocksdb.index.value.is.delta.encoded",
                           &delta_encoded);
  }
  StoredHandle stored;
  const auto take = [&](std::string_view key, bool shares_key, Cursor* value) {
    std::string_view rest;
    Cursor(*value).Bytes(value->Left(), &rest);
    std::string wrong =
        TakePartition(delta_encoded != 0, shares_key, value, &stored.handle);
    if (!wrong.empty() ||
        (!partitioned && key != "fullfilter." + filter.policy)) {
      return wrong;
    }
    stored.at = static_cast<size_t>(rest.data() - block->data());
    stored.size = rest.size() - value->Left();
    stored.is_delta = delta_encoded != 0 && shares_key;
    handles->push_back(stored);
    return CheckHandle(file, stored.handle);
  };
  error = ForEachEntry(*block, delta_encoded == 0, take);
  return Located(source, of_block.offset, "handles of filters: ", error);
}

}  // namespace

std::string ReplaceFilters(const SstSource& source, const SstFile& file,
                           const SstFilter& filter,
                           const std::vector<std::string>& filters,
                           std::vector<SstPatch>* patches) {
  patches->clear();
  SstPatch index;
  index.offset = filter.scope == FilterScope::kPartitioned
                     ? filter.handle.offset
                     : file.metaindex.offset;
  std::vector<StoredHandle> handles;
  std::string error = FindHandles(source, file, filter, &index.bytes, &handles);
  if (!error.empty()) return error;
  if (handles.size() != filters.size()) {
    return Concat(At(source, index.offset), "expected ", filters.size(),
                  " handles of filters, found ", handles.size());
  }
  BlockHandle last;  // the one before, as it is written now
  bool replaced = false;
  for (size_t i = 0; i < handles.size(); ++i) {
    const StoredHandle& old = handles[i];
    // Handles with differences follow each other without a gap.
    BlockHandle now = {old.is_delta
                           ? last.offset + last.size + kBlockTrailerSize
                           : old.handle.offset,
                       filters[i].size()};
    std::string value = EncodeHandle(now, old.is_delta, last);
    std::string kept;
    const bool fits = !filters[i].empty() && now.size <= old.handle.size &&
                      value.size() == old.size;
    if (!fits) {
      error = ReadBlock(source, file, old.handle, &kept);
      if (!error.empty()) return error;
      now.size = kept.size();
      value = EncodeHandle(now, old.is_delta, last);
      if (value.size() != old.size) {
        return At(source, old.handle.offset) +
               "the handle of the filter would become longer or shorter";
      }
    }
    replaced = replaced || fits;
    if (!old.is_delta) patches->push_back({now.offset, {}});
    SstPatch& patch = patches->back();
    const size_t start = now.offset - patch.offset;
    patch.bytes.resize(start);
    patch.bytes += fits ? filters[i] : kept;
    AppendTrailer(file, now.offset, start, &patch.bytes);
    patch.bytes.resize(old.handle.offset + old.handle.size + kBlockTrailerSize -
                       patch.offset);
    index.bytes.replace(old.at, old.size, value);
    last = now;
  }
  if (!replaced) {
    return At(source, index.offset) +
           "no filter fits into the bytes and the handle of the old one";
  }
  AppendTrailer(file, index.offset, 0, &index.bytes);
  patches->push_back(std::move(index));
  return {};
}

}  // namespace deltabloom::internal
