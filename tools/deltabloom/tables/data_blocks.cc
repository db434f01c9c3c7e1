#include "tools/deltabloom/tables/data_blocks.h"

#include <snappy.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#ifdef DELTABLOOM_TOOLS_ROCKSDB
#include <bzlib.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>
#endif

#include <algorithm>
#include <iterator>

#include "tools/deltabloom/tables/read_table.h"
#include "tools/sst/sst.h"
#include "util/coding.h"

namespace deltabloom::tools {
namespace {

using internal::BlockHandle;
using internal::Cursor;
using internal::LoadFixed32;

// --- Compression, as in RocksDB's util/compression.h. Each function fills
// to[0 .. n), and returns false if the bytes do not decompress to that.
// `dictionary` is empty if the table has none.

bool Snappy(std::string_view from, std::string_view, char* to, size_t) {
  return snappy::RawUncompress(from.data(), from.size(), to);
}

#ifdef DELTABLOOM_TOOLS_ROCKSDB

bool Zlib(std::string_view from, std::string_view dictionary, char* to,
          size_t n) {
  const auto bytes = [](std::string_view text) {  // zlib does not change them
    return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  };
  z_stream stream = {};
  constexpr int kRaw = -15;  // without a header; any window
  if (inflateInit2(&stream, kRaw) != Z_OK) return false;
  if (!dictionary.empty()) {
    inflateSetDictionary(&stream, bytes(dictionary),
                         static_cast<uInt>(dictionary.size()));
  }
  stream.next_in = bytes(from);
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(n);
  const bool done = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  inflateEnd(&stream);
  return done && stream.total_out == n;
}

bool BZip2(std::string_view from, std::string_view, char* to, size_t n) {
  auto size = static_cast<unsigned>(n);
  return BZ2_bzBuffToBuffDecompress(to, &size, const_cast<char*>(from.data()),
                                    static_cast<unsigned>(from.size()), 0,
                                    0) == BZ_OK &&
         size == n;
}

bool LZ4(std::string_view from, std::string_view dictionary, char* to,
         size_t n) {
  const auto size = static_cast<int>(n);
  return LZ4_decompress_safe_usingDict(
             from.data(), to, static_cast<int>(from.size()), size,
             dictionary.data(), static_cast<int>(dictionary.size())) == size;
}

bool Zstd(std::string_view from, std::string_view dictionary, char* to,
          size_t n) {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  thread_local const std::unique_ptr<ZSTD_DCtx, Free> context(
      ZSTD_createDCtx());
  return context != nullptr &&
         ZSTD_decompress_usingDict(context.get(), to, n, from.data(),
                                   from.size(), dictionary.data(),
                                   dictionary.size()) == n;
}

#endif  // DELTABLOOM_TOOLS_ROCKSDB

// Decompressors by the number that is stored after a block. Null: the
// compression is not known, or not available in this build.
constexpr uint8_t kSnappy = 1;
constexpr uint8_t kZstd = 7;
constexpr uint8_t kZstdNotFinal = 0x40;  // the same, by its former name
constexpr bool (*kDecompress[])(std::string_view from,
                                std::string_view dictionary, char* to,
                                size_t n) = {nullptr, Snappy,
#ifdef DELTABLOOM_TOOLS_ROCKSDB
                                             Zlib,    BZip2,  LZ4, LZ4,
                                             nullptr, Zstd
#endif
};

// --- Blocks.

// A data block (table/block_based/data_block_footer.h there).
struct DataBlock {
  std::string_view entries;
  // All keys begin with it; the first bytes of `entries`. Keys that share
  // nothing with the one before are stored without it.
  std::string_view key_prefix;
  // The second half of a block that has its values after all keys. In such a
  // block, entries that share no prefix with the one before say where their
  // value is.
  std::string_view restarts;
};

DataBlock ParseDataBlock(std::string_view block, uint32_t format_version) {
  constexpr uint32_t kFirstPrefixedVersion = 8;
  constexpr uint32_t kHashIndex = uint32_t{1} << 31;
  constexpr uint32_t kUniformKeys = uint32_t{1} << 29;  // a hint for searches
  constexpr uint32_t kSeparateValues = uint32_t{1} << 28;
  constexpr uint32_t kMostRestarts = (uint32_t{1} << 28) - 1;
  const auto number = [&block](size_t from_end) {
    return from_end <= block.size()
               ? LoadFixed32(block.data() + block.size() - from_end)
               : UINT32_MAX;
  };
  const uint32_t packed = number(4);
  const bool separate = (packed & kSeparateValues) != 0;
  const uint32_t restarts =
      packed & ~(kHashIndex | kUniformKeys | kSeparateValues);
  // The parts after the entries, from the last to the first.
  size_t tail = separate ? 8 : 4;
  if ((packed & kHashIndex) != 0) tail += 2 + (number(tail + 2) & 0xffff);
  const size_t restarts_end = tail;
  tail += size_t{4} * restarts;
  size_t size = block.size() - std::min(tail, block.size());
  if (separate) size = std::min<size_t>(size, number(8));
  if (restarts > kMostRestarts || tail > block.size()) {
    Check("expected restart points within the block, found " +
          std::to_string(packed) + ", or a feature of a later version");
  }
  DataBlock parsed = {block.substr(0, size), {}, {}};
  if (format_version >= kFirstPrefixedVersion && restarts > 0) {
    parsed.key_prefix = parsed.entries.substr(0, number(tail));
  }
  if (separate) {
    parsed.restarts = block.substr(block.size() - tail, tail - restarts_end);
  }
  return parsed;
}

}  // namespace

std::string_view DataBlocks::Read(const BlockHandle& handle) {
  constexpr uint64_t kWindow = 64 << 10;
  const auto fail = [&](const std::string& what) {
    Check(internal::At(source_, handle.offset) + "expected " + what);
  };
  const std::string outside = internal::CheckHandle(file_, handle);
  if (!outside.empty()) Check(internal::At(source_, handle.offset) + outside);
  const uint64_t size = handle.size + internal::kBlockTrailerSize;
  if (handle.offset < window_start_ ||
      handle.offset + size > window_start_ + window_.size()) {
    window_start_ = handle.offset;
    window_.resize(
        std::min(std::max(size, kWindow), file_.footer_offset - handle.offset));
    Check(source_.Read(handle.offset, window_.size(), window_.data()));
  }
  std::string_view block = std::string_view(window_).substr(
      handle.offset - window_start_, handle.size + 1);
  if (internal::BlockChecksum(file_.checksum, block) +
          internal::ChecksumContext(file_.checksum_base, handle.offset) !=
      LoadFixed32(block.data() + block.size())) {
    fail("a block of " + std::to_string(handle.size) +
         " bytes whose checksum (" + internal::ChecksumName(file_.checksum) +
         ") holds, found one that does not");
  }
  auto compression = static_cast<uint8_t>(block.back());
  if (compression == kZstdNotFinal) compression = kZstd;
  block.remove_suffix(1);
  if (compression == 0) return block;
  const auto decompress =
      compression < std::size(kDecompress) ? kDecompress[compression] : nullptr;
  const std::string number = std::to_string(compression);
  if (decompress == nullptr) {
    fail("a compression that is known here, found " + number);
  }
  if (file_.format_version < 2 && compression != kSnappy &&
      compression != kZstd) {
    fail("format_version 2 or later with compression " + number + ", found " +
         std::to_string(file_.format_version) +
         ", whose blocks of that kind are not read here");
  }
  // The size comes first, and Snappy needs it.
  Cursor cursor(block);
  uint32_t n = 0;
  bool good = cursor.Varint32(&n) && n <= uint32_t{INT32_MAX};
  if (compression != kSnappy) {
    block.remove_prefix(block.size() - cursor.Left());
  }
  if (good && n > capacity_) {
    decompressed_.reset(new char[n]);
    capacity_ = n;
  }
  good = good && decompress(block, dictionary_, decompressed_.get(), n);
  if (!good) fail("a block of compression " + number + ", found other bytes");
  return {decompressed_.get(), n};
}

void DataBlocks::ForEachHandle(const BlockHandle& index, bool first_keys,
                               const BlockFn& fn) {
  const std::string error = internal::ForEachHandle(
      file_, std::string(Read(index)), first_keys,
      [&fn](std::string_view last_key, const BlockHandle& handle) {
        fn(last_key, handle);
        return std::string();
      });
  if (!error.empty()) {
    Check(internal::At(source_, index.offset) + "index: " + error);
  }
}

// The dictionary that the metaindex names, if any.
void DataBlocks::FindDictionary() {
  const std::string metaindex = ReadBlock(source_, file_, file_.metaindex);
  BlockHandle handle;
  bool found = false;
  Check(internal::ForEachEntry(metaindex, true,
                               [&](std::string_view name, bool, Cursor* value) {
                                 if (name == "rocksdb.compression_dict") {
                                   found = internal::TakeHandle(value, &handle);
                                 }
                                 return std::string();
                               }));
  if (found) dictionary_ = ReadBlock(source_, file_, handle);
}

void DataBlocks::ForEach(const BlockFn& fn) {
  // BlockBasedTableOptions::IndexType; LevelDB's is the first one.
  enum IndexType : uint32_t { kBinary, kHash, kTwoLevels, kFirstKeys, kEnd };
  std::string_view type;
  file_.properties.Text("rocksdb.block.based.table.index.type", &type);
  const uint32_t index_type =
      type.size() == 4 ? LoadFixed32(type.data()) : uint32_t{kBinary};
  if (index_type >= kEnd) {
    Check(source_.Name() + ": expected an index of a known type, found " +
          std::to_string(index_type));
  }
  FindDictionary();
  uint64_t end = 0;  // of the block before
  const BlockFn data_block = [&](std::string_view last_key,
                                 const BlockHandle& handle) {
    // If this were allowed, a few bytes could name the same block thousands of
    // times.
    if (handle.offset < end) {
      Check(internal::At(source_, handle.offset) +
            "expected data blocks that follow each other, found one that the "
            "index has named before");
    }
    end = handle.offset + handle.size + internal::kBlockTrailerSize;
    fn(last_key, handle);
  };
  if (index_type != kTwoLevels) {
    return ForEachHandle(file_.index, index_type == kFirstKeys, data_block);
  }
  ForEachHandle(file_.index, false,
                [&](std::string_view, const BlockHandle& part) {
                  ForEachHandle(part, false, data_block);
                });
}

void DataBlocks::ForEachKey(const BlockHandle& handle, const KeyFn& fn) {
  DataBlock block = ParseDataBlock(Read(handle), file_.format_version);
  const char* p = block.entries.data() + block.key_prefix.size();
  const char* const end = block.entries.data() + block.entries.size();
  const bool separate = !block.restarts.empty();
  std::string& key = key_;
  key.clear();
  while (p != end) {
    uint32_t sizes[3];  // shared with the key before, other bytes, value
    const auto byte = [p](int i) { return static_cast<unsigned char>(p[i]); };
    bool good = true;
    if (!separate && end - p >= 3 && (byte(0) | byte(1) | byte(2)) < 0x80) {
      for (int i = 0; i < 3; ++i) sizes[i] = byte(i);
      p += 3;
    } else {
      const auto at = static_cast<size_t>(p - block.entries.data());
      Cursor cursor({p, static_cast<size_t>(end - p)});
      for (uint32_t& size : sizes) good = good && cursor.Varint32(&size);
      if (separate) {
        sizes[2] = 0;  // not here
        uint32_t value;
        if (!block.restarts.empty() &&
            LoadFixed32(block.restarts.data()) == at) {
          good = good && cursor.Varint32(&value);
          block.restarts.remove_prefix(4);
        }
      }
      p = end - cursor.Left();
    }
    if (!good || sizes[0] > key.size() ||
        uint64_t{sizes[1]} + sizes[2] > static_cast<uint64_t>(end - p)) {
      Check(internal::At(source_, handle.offset) +
            "data block: expected an entry within the block, found other "
            "bytes");
    }
    key.resize(sizes[0]);
    if (sizes[0] == 0) key = block.key_prefix;
    key.append(p, sizes[1]);
    p += uint64_t{sizes[1]} + sizes[2];
    fn(key);
  }
}

}  // namespace deltabloom::tools
