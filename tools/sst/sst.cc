#include "tools/sst/sst.h"

#include <fcntl.h>
#include <snappy.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iomanip>
#include <ios>
#include <locale>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/coding.h"
#include "util/cpu.h"

namespace deltabloom::internal {
namespace {

template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  return text.str();
}

// The exception for a damaged file. Callers get its text.
struct Damage {
  std::string text;
};

void Check(std::string error) {
  if (!error.empty()) throw Damage{std::move(error)};
}

template <typename... Parts>
void Expect(bool holds, const Parts&... parts) {
  if (!holds) throw Damage{Concat("expected ", parts...)};
}

// Calls fn(), and returns the damage that it finds.
template <typename Fn>
std::string DamageOf(Fn fn) {
  try {
    fn();
  } catch (Damage& damage) {
    return std::move(damage.text);
  }
  return {};
}

// Returns fn(), whose damage is in `part` of the file, at `offset`.
template <typename Fn>
auto In(const SstSource& source, uint64_t offset, const char* part, Fn fn) {
  try {
    return fn();
  } catch (const Damage& damage) {
    throw Damage{At(source, offset) + part + damage.text};
  }
}

// --- Files -----------------------------------------------------------------

class FileSource : public SstSource {
 public:
  FileSource(std::string path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;

  const std::string& Name() const override { return path_; }
  uint64_t Size() const override { return size_; }

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
  const uint64_t size_;
};

// --- Entries and checksums -------------------------------------------------

// From this format_version on the bytes before the first restart point of an
// index or data block are the beginning of all its keys.
constexpr uint32_t kFirstPrefixedVersion = 8;

// Takes the entries out of the block, without the array of restart points after
// them, whose offsets must ascend and lie within the entries. *key_prefix
// receives the bytes before the first one; if it is null, there are none.
std::string_view EntriesOf(std::string_view block,
                           std::string_view* key_prefix) {
  Expect(block.size() >= 8, "at least 8 bytes, found ", block.size());
  // The bit that is cleared is a hint for searches, which RocksDB 11 may set in
  // indexes.
  const uint64_t restarts =
      LoadFixed32(block.data() + block.size() - 4) & ~(uint32_t{1} << 29);
  Expect(restarts > 0 && 4 * (restarts + 1) <= block.size(), "1 to ",
         block.size() / 4 - 1, " restart points, found ", restarts);
  const size_t end = block.size() - 4 * (restarts + 1);
  uint64_t last = 0;
  for (size_t i = 0; i < restarts; ++i) {
    const uint64_t restart = LoadFixed32(block.data() + end + 4 * i);
    const uint64_t most = i == 0 && key_prefix == nullptr ? 0 : end;
    Expect(restart >= last && restart <= most, "restart point ", i, " from ",
           last, " to ", most, ", found ", restart);
    if (i == 0 && key_prefix != nullptr) *key_prefix = block.substr(0, restart);
    last = restart;
  }
  return block.substr(0, end);
}

// ForEachEntry of sst.h; `may_have_prefix` says that the block may begin with
// the beginning of all keys.
std::string ForEntries(std::string_view block, bool sized_values,
                       bool may_have_prefix, const EntryFn& fn) {
  return DamageOf([&] {
    std::string_view key_prefix;
    const std::string_view entries =
        EntriesOf(block, may_have_prefix ? &key_prefix : nullptr);
    Cursor cursor(entries.substr(key_prefix.size()));
    std::string key;
    const auto take = [&] {
      uint32_t shared = 0;
      uint32_t unshared = 0;
      uint32_t value_size = 0;
      Expect(cursor.Varint32(&shared) && cursor.Varint32(&unshared) &&
                 (!sized_values || cursor.Varint32(&value_size)),
             "the sizes of a key, found no valid varint32");
      Expect(shared <= key.size(), "at most ", key.size(),
             " bytes shared with the key before, found ", shared);
      std::string_view bytes;
      Expect(cursor.Bytes(unshared, &bytes), "a key of ", unshared,
             " more bytes, found ", cursor.Left());
      key.resize(shared);
      if (shared == 0) key = key_prefix;
      key.append(bytes);
      if (!sized_values) return Check(fn(key, shared != 0, &cursor));
      Expect(cursor.Bytes(value_size, &bytes), "a value of ", value_size,
             " bytes, found ", cursor.Left());
      Cursor value(bytes);
      Check(fn(key, shared != 0, &value));
    };
    while (cursor.Left() > 0) {
      const size_t start = entries.size() - cursor.Left();
      const std::string wrong = DamageOf(take);
      if (!wrong.empty())
        throw Damage{Concat("entry at byte ", start, ": ", wrong)};
    }
  });
}

#if defined(__x86_64__)
// Takes words off the bytes and adds them to their CRC.
DELTABLOOM_TARGET_AVX2 uint32_t AddWords(uint64_t crc,
                                         std::string_view* bytes) {
  for (; bytes->size() >= 8; bytes->remove_prefix(8)) {
    crc = __builtin_ia32_crc32di(crc, LoadFixed64(bytes->data()));
  }
  return static_cast<uint32_t>(crc);
}
#endif

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
#if defined(__x86_64__)
  if (ActiveCpu() != Cpu::kPortable) crc = AddWords(crc, &bytes);
#endif
  for (char byte : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

// --- Blocks ----------------------------------------------------------------

// Reads a block with its trailer. The handle is checked first, so that nothing
// larger than the file is allocated.
std::string ReadStored(const SstSource& source, const SstFile& file,
                       const BlockHandle& handle) {
  In(source, handle.offset, "", [&] { Check(CheckHandle(file, handle)); });
  std::string stored(handle.size + kBlockTrailerSize, '\0');
  Check(source.Read(handle.offset, stored.size(), stored.data()));
  return stored;
}

bool ChecksumHolds(const SstFile& file, const BlockHandle& handle,
                   const std::string& stored) {
  const size_t checked = stored.size() - 4;
  return BlockChecksum(file.checksum, {stored.data(), checked}) +
             ChecksumContext(file.checksum_base, handle.offset) ==
         LoadFixed32(stored.data() + checked);
}

void VerifyChecksum(const SstSource& source, const SstFile& file,
                    const BlockHandle& handle, const std::string& stored) {
  In(source, handle.offset, "", [&] {
    Expect(ChecksumHolds(file, handle, stored), "a block of ", handle.size,
           " bytes whose checksum (", ChecksumName(file.checksum),
           ") holds, found one that does not");
  });
}

// Takes the trailer off what ReadStored gave, and undoes the compression. Of
// the blocks that a walk reads only LevelDB's metaindex can be compressed, and
// only by Snappy.
void Unpack(const SstSource& source, const BlockHandle& handle,
            std::string* block) {
  enum Compression : uint8_t { kNone = 0, kSnappy = 1 };
  const auto compression = static_cast<uint8_t>((*block)[handle.size]);
  block->resize(handle.size);
  if (compression == kNone) return;
  In(source, handle.offset, "", [&] {
    Expect(compression == kSnappy,
           "a block that is not compressed (0) or compressed by Snappy (1), "
           "found compression ",
           unsigned{compression});
    // No Snappy element of b bytes yields more than 64 / 3 b: what claims more
    // is damaged, and must not make us allocate it.
    size_t size = 0;
    std::string unpacked;
    Expect(snappy::GetUncompressedLength(block->data(), block->size(), &size) &&
               size / 22 <= block->size() &&
               snappy::Uncompress(block->data(), block->size(), &unpacked),
           "a block compressed by Snappy, found bytes that Snappy cannot "
           "decompress");
    *block = std::move(unpacked);
  });
}

std::string Read(const SstSource& source, const SstFile& file,
                 const BlockHandle& handle) {
  std::string block = ReadStored(source, file, handle);
  VerifyChecksum(source, file, handle, block);
  Unpack(source, handle, &block);
  return block;
}

// --- Properties ------------------------------------------------------------

constexpr std::string_view kPropertiesName = "rocksdb.properties";
constexpr char kIndexName[] = "rocksdb.index";
constexpr std::string_view kGlobalSequenceNumber =
    "rocksdb.external_sst_file.global_seqno";

// If several properties have this name, the last one counts, as in RocksDB.
bool Find(std::string_view block, std::string_view name,
          std::string_view* value) {
  bool found = false;
  ForEachEntry(block, true, [&](std::string_view key, bool, Cursor* bytes) {
    if (key == name) found = bytes->Bytes(bytes->Left(), value);
    return std::string();
  });
  return found;
}

// --- Footer ----------------------------------------------------------------

constexpr uint64_t kLevelDBMagic = 0xdb4775248b80fb57;
constexpr uint64_t kBlockBasedMagic = 0x88e241b785f4cff7;
constexpr uint32_t kLastFormatVersion = 8;

// Two handles, filled up with zeros to their greatest length; or, from
// kFirstExtendedVersion on, the fields of DecodeExtended.
constexpr size_t kHandlesSize = 40;
constexpr uint32_t kFirstExtendedVersion = 6;
// From this format_version on bytes may lie between the metaindex and the
// footer.
constexpr uint32_t kFirstGapVersion = 8;
constexpr uint32_t kExtendedMagic = 0x007a003e;
constexpr size_t kMagicSize = 8;
constexpr size_t kVersionSize = 4;
constexpr size_t kOldFooterSize = kHandlesSize + kMagicSize;
constexpr size_t kNewFooterSize = 1 + kHandlesSize + kVersionSize + kMagicSize;

TableKind KindOf(uint64_t magic) {
  switch (magic) {
    case kLevelDBMagic:
      return TableKind::kLevelDB;
    case kBlockBasedMagic:
      return TableKind::kBlockBased;
    case 0x8242229663bf9564:
    case 0x4f3418eb7a8f13b8:
      return TableKind::kPlain;
    case 0x926789d0c5f17873:
      return TableKind::kCuckoo;
    default:
      return TableKind::kUnknown;
  }
}

// The kind and the size of the footer, from the bytes at its end.
size_t DecodeMagic(std::string_view tail, SstFile* file) {
  const char* end = tail.data() + tail.size();
  const uint64_t magic = LoadFixed64(end - kMagicSize);
  file->kind = KindOf(magic);
  if (file->kind == TableKind::kLevelDB) return kOldFooterSize;
  Expect(file->kind == TableKind::kBlockBased,
         "the magic number of a LevelDB table or of a RocksDB block-based "
         "table, found 0x",
         std::hex, std::setw(16), std::setfill('0'), magic,
         file->kind == TableKind::kPlain    ? ", RocksDB's plain table"
         : file->kind == TableKind::kCuckoo ? ", RocksDB's cuckoo table"
                                            : "");
  file->format_version = LoadFixed32(end - kMagicSize - kVersionSize);
  Expect(
      file->format_version >= 1 && file->format_version <= kLastFormatVersion,
      "format_version 1 to ", kLastFormatVersion, ", found ",
      file->format_version);
  Expect(tail.size() == kNewFooterSize, "a footer of ", kNewFooterSize,
         " bytes, found ", tail.size());
  const auto type = static_cast<uint8_t>(tail[0]);
  Expect(type <= kLastChecksumType, "a checksum type of 0 to ",
         unsigned{kLastChecksumType}, ", found ", unsigned{type});
  file->checksum = static_cast<ChecksumType>(type);
  return kNewFooterSize;
}

void DecodeHandles(std::string_view handles, SstFile* file) {
  Cursor cursor(handles);
  Expect(TakeHandle(&cursor, &file->metaindex) &&
             TakeHandle(&cursor, &file->index),
         "the handles of metaindex and index, found no valid varint64");
  handles.remove_prefix(handles.size() - cursor.Left());
  Expect(handles.find_first_not_of('\0') == std::string_view::npos,
         "zeros after the handles, found other bytes");
  for (const auto& [part, handle] : {std::pair("metaindex: ", file->metaindex),
                                     std::pair("index: ", file->index)}) {
    const std::string wrong = CheckHandle(*file, handle);
    if (!wrong.empty()) throw Damage{part + wrong};
  }
}

// The footer from kFirstExtendedVersion on, which checks itself and finds the
// metaindex before it. It does not give the index.
void DecodeExtended(std::string footer, SstFile* file) {
  const auto number = [&footer](size_t at) {
    return LoadFixed32(footer.data() + at);
  };
  Expect(number(1) == kExtendedMagic,
         "the bytes 3e 00 7a 00 after the checksum type, found others");
  file->checksum_base = number(9);
  Expect(file->checksum_base != 0,
         "a base of context checksums other than 0, found 0");
  const uint32_t checksum = number(5);
  footer.replace(5, 4, 4, '\0');
  Expect(BlockChecksum(file->checksum, footer) +
                 ChecksumContext(file->checksum_base, file->footer_offset) ==
             checksum,
         "a footer whose checksum (", ChecksumName(file->checksum),
         ") holds, found one that does not");
  Expect(LoadFixed64(footer.data() + 33) == 0,
         "zeros in the last 8 reserved bytes, found a feature of a later "
         "version");
  const bool has_gap = file->format_version >= kFirstGapVersion;
  const uint64_t size = has_gap ? number(13) & 0xffff : number(13);
  const uint64_t gap = has_gap ? number(13) >> 16 : 0;
  const uint64_t distance = size + kBlockTrailerSize + gap;
  Expect(distance <= file->footer_offset, "a metaindex of at most ",
         file->footer_offset, " bytes with its trailer, found ", distance);
  file->metaindex = {file->footer_offset - distance, size};
}

// Fills in everything of *file that the footer gives; its handles are checked.
void ReadFooter(const SstSource& source, SstFile* file) {
  In(source, 0, "", [&] {
    Expect(source.Size() >= kOldFooterSize, "a table of at least ",
           kOldFooterSize, " bytes, found ", source.Size());
  });
  std::string tail(std::min<uint64_t>(source.Size(), kNewFooterSize), '\0');
  const uint64_t tail_offset = source.Size() - tail.size();
  Check(source.Read(tail_offset, tail.size(), tail.data()));
  const size_t size = In(source, tail_offset,
                         "footer: ", [&] { return DecodeMagic(tail, file); });
  file->footer_offset = source.Size() - size;
  const std::string footer = tail.substr(tail.size() - size);
  In(source, file->footer_offset, "footer: ", [&] {
    if (file->format_version >= kFirstExtendedVersion) {
      return DecodeExtended(footer, file);
    }
    // The checksum type comes first in the new footer.
    DecodeHandles(
        std::string_view(footer).substr(size == kNewFooterSize, kHandlesSize),
        file);
  });
}

// --- Handles in the metaindex and in an index of partitions ----------------

// A handle in a block, as its value is stored there.
struct StoredHandle {
  BlockHandle handle;
  size_t at = 0;  // in the block
  size_t size = 0;
  bool is_delta = false;    // only the difference of sizes
  bool is_escaped = false;  // a zero, as it stands in the place of one
};

// From this format_version on a difference is stored as one more, and zero says
// that a handle follows.
constexpr uint32_t kFirstEscapedVersion = 8;

// Calls fn(key, stored) for each entry of a block of handles, which are
// checked. `first_keys`: a key follows each handle.
template <typename Fn>
void ForHandles(const SstFile& file, std::string_view block, bool delta_encoded,
                Fn fn, bool first_keys = false) {
  const bool has_escapes = file.format_version >= kFirstEscapedVersion;
  StoredHandle stored;
  BlockHandle& handle = stored.handle;
  Check(ForEntries(
      block, !delta_encoded, file.format_version >= kFirstPrefixedVersion,
      [&](std::string_view key, bool shares_key, Cursor* value) {
        std::string_view rest;
        Cursor(*value).Bytes(value->Left(), &rest);
        stored.is_delta = delta_encoded && shares_key;
        uint64_t difference = 0;
        Expect(!stored.is_delta || value->Varint64(&difference),
               "a difference of sizes, found no valid varint64");
        stored.is_escaped = stored.is_delta && has_escapes && difference == 0;
        if (stored.is_escaped) stored.is_delta = false;
        if (stored.is_delta) {
          if (has_escapes) --difference;
          handle.offset += handle.size + kBlockTrailerSize;
          // Differences of either sign take few bytes (zigzag).
          handle.size += difference >> 1 ^ (0 - (difference & 1));
        } else {
          Expect(TakeHandle(value, &handle), "a handle, found other bytes");
        }
        stored.at = static_cast<size_t>(rest.data() - block.data());
        stored.size = rest.size() - value->Left();
        uint32_t size;
        Expect(!first_keys ||
                   (value->Varint32(&size) && value->Bytes(size, &rest)),
               "the first key of a block, found other bytes");
        Expect(delta_encoded || value->Left() == 0,
               "a handle, found other bytes");
        Check(CheckHandle(file, handle));
        fn(key, stored);
        return std::string();
      }));
}

bool HasDeltaEncodedIndex(const SstFile& file) {
  uint64_t on = 0;
  file.properties.Number("rocksdb.index.value.is.delta.encoded", &on);
  return on != 0;
}

// --- Metaindex and filters -------------------------------------------------

// The state of a walk through a file. Filters do not overlap, so that all of
// them fit into the file; and their names, which share prefixes in the
// metaindex, must together be no longer than file and metaindex. Both bound the
// memory and the time that a file can cost.
struct Walk {
  const SstSource& source;
  SstFile* file;
  uint64_t filter_bytes_left = 0;
  uint64_t name_bytes_left = 0;

  static void Take(uint64_t bytes, const char* what, uint64_t* left) {
    Expect(bytes <= *left, what, " of at most ", *left,
           " more bytes in this file, found ", bytes);
    *left -= bytes;
  }

  void TakeFilter(const BlockHandle& handle) {
    Take(handle.size + kBlockTrailerSize, "filters", &filter_bytes_left);
  }

  // The filter that an entry of the metaindex names, if it names one.
  void TakeEntry(std::string_view name, const BlockHandle& handle) {
    static constexpr std::pair<std::string_view, FilterScope> kPrefixes[] = {
        {"filter.", FilterScope::kPerBlock},
        {"fullfilter.", FilterScope::kFull},
        {"partitionedfilter.", FilterScope::kPartitioned}};
    for (const auto& [prefix, scope] : kPrefixes) {
      if (name.substr(0, prefix.size()) != prefix) continue;
      name.remove_prefix(prefix.size());
      TakeFilter(handle);
      Take(name.size(), "names of filters", &name_bytes_left);
      file->filters.push_back(
          {scope, std::string(name), handle, 0, handle.size});
      return;
    }
  }

  // Returns the handle of the properties. Partitions are not counted yet.
  std::optional<BlockHandle> ReadMetaindex() {
    std::optional<BlockHandle> properties;
    bool has_index = file->format_version < kFirstExtendedVersion;
    const std::string block = Read(source, *file, file->metaindex);
    name_bytes_left = source.Size() + block.size();
    In(source, file->metaindex.offset, "metaindex: ", [&] {
      ForHandles(*file, block, /*delta_encoded=*/false,
                 [&](std::string_view name, const StoredHandle& stored) {
                   if (name == kPropertiesName) properties = stored.handle;
                   if (name == kIndexName && !has_index) {
                     file->index = stored.handle;
                     has_index = true;
                   }
                   TakeEntry(name, stored.handle);
                 });
      Expect(has_index, "the name ", kIndexName, ", found none");
    });
    return properties;
  }

  void ReadProperties(const BlockHandle& handle) {
    std::string stored = ReadStored(source, *file, handle);
    // RocksDB writes the sequence number of a file that it takes in over zeros,
    // after the checksum of the block was made.
    std::string as_written = stored;
    std::string_view number;
    if (!ChecksumHolds(*file, handle, stored) &&
        Find(std::string_view(stored).substr(0, handle.size),
             kGlobalSequenceNumber, &number) &&
        number.size() == 8) {
      as_written.replace(static_cast<size_t>(number.data() - stored.data()), 8,
                         8, '\0');
    }
    VerifyChecksum(source, *file, handle, as_written);
    Unpack(source, handle, &stored);
    In(source, handle.offset, "properties: ", [&] {
      Check(file->properties.Parse(std::move(stored)));
    });
  }

  void FindFilters() {
    ReadFooter(source, file);
    filter_bytes_left = file->footer_offset;
    const std::optional<BlockHandle> properties = ReadMetaindex();
    if (properties) ReadProperties(*properties);
    for (SstFilter& filter : file->filters) {
      if (filter.scope != FilterScope::kPartitioned) continue;
      filter.bytes = 0;
      Check(ForEachPartition(source, *file, filter,
                             [&](std::string_view, const BlockHandle& handle) {
                               ++filter.partitions;
                               filter.bytes += handle.size;
                               TakeFilter(handle);
                               return std::string();
                             }));
    }
  }
};

}  // namespace

const char* ScopeName(FilterScope scope) {
  static constexpr const char* kNames[] = {"per-block", "full", "partitioned"};
  return kNames[static_cast<uint8_t>(scope)];
}

std::unique_ptr<SstSource> OpenSstFile(const std::string& path,
                                       std::string* error) {
  // Checked first: opening a device can have effects.
  struct stat status = {};
  int descriptor = -1;
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) {
      *error = path + ": expected a file, found " +
               (S_ISDIR(status.st_mode)    ? "a directory"
                : S_ISFIFO(status.st_mode) ? "a FIFO"
                                           : "something else");
      return nullptr;
    }
    descriptor =
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  }
  if (descriptor < 0) {
    *error = path + ": cannot be opened: " + std::strerror(errno);
    return nullptr;
  }
  return std::make_unique<FileSource>(path, descriptor,
                                      static_cast<uint64_t>(status.st_size));
}

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
  return ForEntries(block, sized_values, /*may_have_prefix=*/false, fn);
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

std::string ReadBlock(const SstSource& source, const SstFile& file,
                      const BlockHandle& handle, std::string* contents) {
  return DamageOf([&] { *contents = Read(source, file, handle); });
}

std::string SstProperties::Parse(std::string block) {
  std::string error =
      ForEachEntry(block, true, [](auto...) { return std::string(); });
  block_ = error.empty() ? std::move(block) : std::string();
  return error;
}

std::vector<std::string> SstProperties::Names() const {
  std::vector<std::string> names;
  ForEachEntry(block_, true, [&](std::string_view key, bool, Cursor* value) {
    std::string_view ignored;
    value->Bytes(value->Left(), &ignored);
    names.emplace_back(key);
    return std::string();
  });
  return names;
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

std::string ForEachHandle(const SstFile& file, std::string_view index,
                          bool first_keys, const HandleFn& fn) {
  return DamageOf([&] {
    ForHandles(
        file, index, HasDeltaEncodedIndex(file),
        [&](std::string_view key, const StoredHandle& stored) {
          Check(fn(key, stored.handle));
        },
        first_keys);
  });
}

std::string ForEachPartition(const SstSource& source, const SstFile& file,
                             const SstFilter& filter, const HandleFn& fn) {
  return DamageOf([&] {
    const std::string index = Read(source, file, filter.handle);
    // A filter that no key came to has an index of no bytes.
    if (index.empty()) return;
    In(source, filter.handle.offset, "partition index: ", [&] {
      Check(ForEachHandle(file, index, /*first_keys=*/false, fn));
    });
  });
}

std::string FindFilters(const SstSource& source, SstFile* file) {
  *file = {};
  return DamageOf([&] { Walk{source, file}.FindFilters(); });
}

std::string WalkSst(const SstSource& source, SstFile* file) {
  return DamageOf([&] {
    Check(FindFilters(source, file));
    VerifyChecksum(source, *file, file->index,
                   ReadStored(source, *file, file->index));
  });
}

// --- Replacing filters -----------------------------------------------------

namespace {

void AppendVarint64(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) {
    bytes->push_back(static_cast<char>(value | 0x80));
  }
  bytes->push_back(static_cast<char>(value));
}

// The handle in the form of the one that it replaces.
std::string EncodeHandle(const SstFile& file, const BlockHandle& handle,
                         const StoredHandle& old, const BlockHandle& last) {
  std::string value;
  if (old.is_escaped) value.push_back(0);
  if (!old.is_delta) {
    AppendVarint64(handle.offset, &value);
    AppendVarint64(handle.size, &value);
    return value;
  }
  const uint64_t difference = handle.size - last.size;
  const uint64_t zigzag = difference << 1 ^ (0 - (difference >> 63));
  AppendVarint64(zigzag + (file.format_version >= kFirstEscapedVersion ? 1 : 0),
                 &value);
  return value;
}

// Reads the block with the handles of the filter, the metaindex or its index of
// partitions, and finds these: one for each of `filters`.
std::vector<StoredHandle> ReadHandles(const SstSource& source,
                                      const SstFile& file,
                                      const SstFilter& filter, size_t filters,
                                      SstPatch* block) {
  const bool partitioned = filter.scope == FilterScope::kPartitioned;
  const BlockHandle handle = partitioned ? filter.handle : file.metaindex;
  *block = {handle.offset, Read(source, file, handle)};
  std::vector<StoredHandle> handles;
  In(source, handle.offset, "handles of filters: ", [&] {
    Expect(!block->bytes.empty() && block->bytes.size() == handle.size,
           "an uncompressed block with handles, found another");
    ForHandles(file, block->bytes, partitioned && HasDeltaEncodedIndex(file),
               [&](std::string_view key, const StoredHandle& stored) {
                 if (partitioned || key == "fullfilter." + filter.policy) {
                   handles.push_back(stored);
                 }
               });
    Expect(handles.size() == filters, filters, " handles of filters, found ",
           handles.size());
  });
  return handles;
}

// Compression and checksum of a block that is written at `offset`.
void AppendTrailer(const SstFile& file, uint64_t offset, size_t start,
                   std::string* bytes) {
  bytes->push_back(0);
  const uint32_t checksum =
      BlockChecksum(file.checksum, std::string_view(*bytes).substr(start)) +
      ChecksumContext(file.checksum_base, offset);
  bytes->resize(bytes->size() + 4);
  StoreFixed32(bytes->data() + bytes->size() - 4, checksum);
}

}  // namespace

std::string ReplaceFilters(const SstSource& source, const SstFile& file,
                           const SstFilter& filter,
                           const std::vector<std::string>& filters,
                           std::vector<SstPatch>* patches, std::string* kept) {
  patches->clear();
  kept->clear();
  return DamageOf([&] {
    SstPatch index;
    const std::vector<StoredHandle> handles =
        ReadHandles(source, file, filter, filters.size(), &index);
    BlockHandle last;  // the one before, as it is written now
    bool replaced = false;
    for (size_t i = 0; i < handles.size(); ++i) {
      const StoredHandle& old = handles[i];
      // Handles with differences follow each other without a gap.
      BlockHandle now = {old.is_delta
                             ? last.offset + last.size + kBlockTrailerSize
                             : old.handle.offset,
                         filters[i].size()};
      std::string value = EncodeHandle(file, now, old, last);
      std::string old_filter;
      const bool fits = !filters[i].empty() && now.size <= old.handle.size &&
                        value.size() == old.size;
      if (!fits) {
        old_filter = Read(source, file, old.handle);
        now.size = old_filter.size();
        value = EncodeHandle(file, now, old, last);
        if (value.size() != old.size) {
          patches->clear();
          *kept = "the handle of a filter would become longer or shorter";
          return;
        }
      }
      replaced = replaced || fits;
      if (!old.is_delta) patches->push_back({now.offset, {}});
      SstPatch& patch = patches->back();
      const size_t start = now.offset - patch.offset;
      patch.bytes.resize(start);
      patch.bytes += fits ? filters[i] : old_filter;
      AppendTrailer(file, now.offset, start, &patch.bytes);
      patch.bytes.resize(old.handle.offset + old.handle.size +
                         kBlockTrailerSize - patch.offset);
      index.bytes.replace(old.at, old.size, value);
      last = now;
    }
    if (!replaced) {
      patches->clear();
      *kept = "no filter fits into the bytes and the handle of the old one";
      return;
    }
    AppendTrailer(file, index.offset, 0, &index.bytes);
    patches->push_back(std::move(index));
  });
}

}  // namespace deltabloom::internal
