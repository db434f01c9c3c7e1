// The walk through table files: files, block entries, properties and checksums;
// tables made by hand, with right checksums around wrong content, which no
// engine writes and no damage of a real file reaches; and tables that RocksDB
// 9.10 wrote (tests/data/sst).
#include "tests/sst/crafted.h"

#include <gtest/gtest.h>
#include <snappy.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <ios>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/csv.h"
#include "tests/folder.h"
#include "tests/random.h"
#include "tools/sst/sst.h"

namespace deltabloom::test {
namespace {

using namespace internal;

// --- Files and bytes ---------------------------------------------------------

class SourceTest : public ::testing::Test {
 protected:
  std::string Path(const char* name) const { return folder_.Path(name); }

  std::unique_ptr<SstSource> OpenFile() const {
    std::ofstream(Path("file"), std::ios::binary) << bytes_;
    std::string error;
    auto source = OpenSstFile(Path("file"), &error);
    EXPECT_NE(source, nullptr) << error;
    return source;
  }

  // The error of opening, which must fail.
  static std::string ErrorOf(const std::string& path) {
    std::string error;
    EXPECT_EQ(OpenSstFile(path, &error), nullptr);
    return error;
  }

  const TempDir folder_;
  const std::string bytes_ = Random(1).Key(10000);
};

TEST_F(SourceTest, ReadsAnyPart) {
  const auto source = OpenFile();
  EXPECT_EQ(source->Size(), 10000u);
  EXPECT_EQ(source->Name(), Path("file"));
  for (const size_t offset : {0u, 1u, 4096u, 9999u}) {
    for (const size_t n : {0u, 1u, 17u, 10000u}) {
      if (offset + n > bytes_.size()) continue;
      std::string read(n, 'x');
      EXPECT_EQ(source->Read(offset, n, read.data()), "");
      EXPECT_EQ(read, bytes_.substr(offset, n));
    }
  }
  ASSERT_EQ(::symlink(Path("file").c_str(), Path("link").c_str()), 0);
  std::string error;
  const auto link = OpenSstFile(Path("link"), &error);
  ASSERT_NE(link, nullptr) << error;
  EXPECT_EQ(link->Size(), 10000u);
}

TEST_F(SourceTest, SaysWhyItCannotRead) {
  const auto source = OpenFile();
  const std::string name = Path("file") + ": offset ";
  std::string read(200, 'x');
  // An offset that the system refuses.
  EXPECT_EQ(source->Read(UINT64_MAX, 1, read.data()),
            name + "18446744073709551615: cannot read 1 bytes: " +
                std::strerror(EINVAL));
  ASSERT_EQ(::truncate(Path("file").c_str(), 100), 0);
  // The first read gets the bytes that are there; the error names the others.
  EXPECT_EQ(source->Read(50, 200, read.data()),
            name + "100: cannot read 150 bytes: the file has become shorter");
  EXPECT_EQ(source->Read(500, 10, read.data()),
            name + "500: cannot read 10 bytes: the file has become shorter");
}

TEST_F(SourceTest, NamesWhatIsNoFile) {
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  const std::pair<std::string, const char*> cases[] = {
      {folder_.path(), "a directory"},
      {"/dev/null", "something else"},
      {Path("fifo"), "a FIFO"}};
  for (const auto& [path, kind] : cases) {
    EXPECT_EQ(ErrorOf(path), path + ": expected a file, found " + kind);
  }
}

TEST_F(SourceTest, NamesWhatCannotBeOpened) {
  EXPECT_EQ(ErrorOf(Path("absent")),
            Path("absent") + ": cannot be opened: " + std::strerror(ENOENT));
  OpenFile();
  ASSERT_EQ(::chmod(Path("file").c_str(), 0), 0);
  if (::geteuid() == 0) GTEST_SKIP() << "root may open every file";
  EXPECT_EQ(ErrorOf(Path("file")),
            Path("file") + ": cannot be opened: " + std::strerror(EACCES));
}

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

TEST(Cursor, Varints) {
  const std::string nine(9, '\xff');
  const struct {
    std::string bytes;
    bool valid64;
    uint64_t value;
    bool valid32;
  } cases[] = {
      {"", false, 0, false},
      {Bytes({0}), true, 0, true},
      {Bytes({127}), true, 127, true},
      {Bytes({128}), false, 0, false},
      {Bytes({128, 1}), true, 128, true},
      {Bytes({128, 0}), false, 0, false},
      {Bytes({255, 128, 0}), false, 0, false},
      {Bytes({255, 255, 255, 255, 15}), true, UINT32_MAX, true},
      {Bytes({128, 128, 128, 128, 16}), true, uint64_t{1} << 32, false},
      {nine + Bytes({1}), true, UINT64_MAX, false},
      {nine + Bytes({2}), false, 0, false},
      {nine + Bytes({129}), false, 0, false},
      {std::string(20, '\xff'), false, 0, false},
  };
  for (const auto& c : cases) {
    uint64_t value64 = 0;
    Cursor cursor64(c.bytes);
    EXPECT_EQ(cursor64.Varint64(&value64), c.valid64);
    EXPECT_EQ(cursor64.Left(), c.valid64 ? 0 : c.bytes.size());
    EXPECT_EQ(value64, c.value);
    uint32_t value32 = 0;
    Cursor cursor32(c.bytes);
    EXPECT_EQ(cursor32.Varint32(&value32), c.valid32);
    EXPECT_EQ(cursor32.Left(), c.valid32 ? 0 : c.bytes.size());
    EXPECT_EQ(value32, c.valid32 ? c.value : 0);
  }
}

// "key=value(shared);" for each entry.
std::string Parse(const std::string& block, std::string* text) {
  return ForEachEntry(block, true,
                      [text](std::string_view key, bool shares, Cursor* value) {
                        std::string_view bytes;
                        value->Bytes(value->Left(), &bytes);
                        *text += std::string(key) + "=" + std::string(bytes) +
                                 (shares ? "(shared);" : ";");
                        return std::string();
                      });
}

const std::string kNoEntries = Bytes({0, 0, 0, 0, 1, 0, 0, 0});

// --- Blocks ------------------------------------------------------------------

TEST(Block, WellFormed) {
  std::string text;
  EXPECT_EQ(Parse(kNoEntries, &text), "");
  EXPECT_EQ(text, "");
  EXPECT_EQ(Parse(Bytes({0, 3, 1, 'a', 'b', 'c', 'x',  // abc=x
                         2, 1, 2, 'd', 'y', 'z',       // abd=yz
                         0, 1, 0, 'b',                 // b=
                         0, 0, 0, 0,   13,  0,   0,   0, 2, 0, 0, 0}),
                  &text),
            "");
  EXPECT_EQ(text, "abc=x;abd=yz(shared);b=;");
}

std::string None(std::string_view, bool, Cursor*) { return {}; }

TEST(Block, Malformed) {
  const struct {
    std::string block;
    const char* error;
  } cases[] = {
      {"", "expected at least 8 bytes, found 0"},
      {std::string(8, '\0'), "expected 1 to 1 restart points, found 0"},
      {std::string(4, '\0') + Fixed(UINT32_MAX, 4),
       "expected 1 to 1 restart points, found 3758096383"},
      {std::string(7, '\0'), "expected at least 8 bytes, found 7"},
      {std::string(16, '\0'), "expected 1 to 3 restart points, found 0"},
      {std::string(12, '\0') + Fixed(4, 4),
       "expected 1 to 3 restart points, found 4"},
      {Fixed(1, 4) + Fixed(1, 4),
       "expected restart point 0 from 0 to 0, found 1"},
      {std::string("abc") + Fixed(0, 4) + Fixed(4, 4) + Fixed(2, 4),
       "expected restart point 1 from 0 to 3, found 4"},
      {std::string("abc") + Fixed(0, 4) + Fixed(2, 4) + Fixed(1, 4) +
           Fixed(3, 4),
       "expected restart point 2 from 2 to 3, found 1"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(ForEachEntry(c.block, true, None), c.error);
  const std::string first = Entry("ab", "v");
  const std::pair<std::string, const char*> entries[] = {
      {"\x80", "expected the sizes of a key, found no valid varint32"},
      {Varint(3) + Varint(0) + Varint(0),
       "expected at most 2 bytes shared with the key before, found 3"},
      {"\x80\x80\x80\x80\x10",
       "expected the sizes of a key, found no valid varint32"},
      {Varint(1) + Varint(9) + Varint(0) + "xyz",
       "expected a key of 9 more bytes, found 3"},
      {Varint(0) + Varint(1) + Varint(9) + "ab",
       "expected a value of 9 bytes, found 1"},
  };
  for (const auto& [entry, error] : entries) {
    EXPECT_EQ(ForEachEntry(Block(first + entry), true, None),
              std::string("entry at byte ") + std::to_string(first.size()) +
                  ": " + error);
  }
}

// CRC32c: RFC 3720, B.4, and the masking of LevelDB's util/crc32c.h. xxHash:
// its published values for "a" and, as the last byte stays out of XXH3, for
// nothing.
TEST(BlockChecksum, KnownAnswers) {
  const auto masked = [](uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  };
  EXPECT_EQ(BlockChecksum(ChecksumType::kCrc32c, std::string(32, '\0')),
            masked(0x8a9136aa));
  EXPECT_EQ(BlockChecksum(ChecksumType::kCrc32c, std::string(32, '\xff')),
            masked(0x62a8ab43));
  EXPECT_EQ(BlockChecksum(ChecksumType::kCrc32c, "123456789"),
            masked(0xe3069283));
  EXPECT_EQ(BlockChecksum(ChecksumType::kXxHash, "a"), 0x550d7456u);
  EXPECT_EQ(BlockChecksum(ChecksumType::kXxHash64, "a"), 0xa98c6e5bu);
  EXPECT_EQ(BlockChecksum(ChecksumType::kNone, "anything"), 0u);
  EXPECT_EQ(BlockChecksum(ChecksumType::kXxh3, std::string("\0", 1)),
            0x38d394c2u);
  EXPECT_EQ(ChecksumContext(0, 0), 0u);
  EXPECT_EQ(ChecksumContext(0, 12345), 0u);
  EXPECT_EQ(ChecksumContext(0xabcd0123, 0), 0xabcd0123u);
  EXPECT_EQ(ChecksumContext(0xabcd0123, 0x10), 0xabcd0133u);
  EXPECT_EQ(ChecksumContext(7, 0x500000000 + 3), 7u ^ 8u);
  EXPECT_EQ(ChecksumContext(1, 0x1ffffffff), 1u);  // modulo 2^32
}

TEST(Properties, TextAndNumbers) {
  SstProperties properties;
  EXPECT_TRUE(properties.empty());
  ASSERT_EQ(
      properties.Parse(Block(
          Entry("a", "text") + Entry("b", Varint(300)) + Entry("c", "") +
          // "d" and "de", which share a byte
          Entry("d", Varint(1)) + Varint(1) + Varint(1) + Varint(1) + "e" +
          Varint(2) + Entry("twice", Varint(1)) + Entry("twice", Varint(2)))),
      "");
  EXPECT_FALSE(properties.empty());
  std::string_view text;
  EXPECT_TRUE(properties.Text("a", &text));
  EXPECT_EQ(text, "text");
  EXPECT_TRUE(properties.Text("c", &text));
  EXPECT_EQ(text, "");
  EXPECT_FALSE(properties.Text("e", &text));
  EXPECT_FALSE(properties.Text("aa", &text));
  const std::pair<const char*, uint64_t> numbers[] = {
      {"b", 300}, {"d", 1}, {"de", 2}, {"twice", 2}};
  uint64_t number = 0;
  for (const auto& [name, value] : numbers) {
    EXPECT_TRUE(properties.Number(name, &number));
    EXPECT_EQ(number, value) << name;
  }
  // No varint and nothing else, or not there.
  for (const char* name : {"a", "c", ""}) {
    EXPECT_FALSE(properties.Number(name, &number)) << name;
  }
  // A bad block has none.
  EXPECT_NE(properties.Parse(Block(Entry("b", Varint(1)) + "z")), "");
  EXPECT_TRUE(properties.empty());
  EXPECT_FALSE(properties.Number("b", &number));
  EXPECT_NE(properties.Parse("short"), "");
}

const std::string kFull = "fullfilter.p";
const std::string kPartitioned = "partitionedfilter.p";
constexpr size_t kFooterSize = 53;
const uint64_t kTwo31 = uint64_t{1} << 31;
const uint64_t kExtremes[] = {
    0,         1, 200, kTwo31, 2 * kTwo31, 2 * kTwo31* kTwo31, UINT64_MAX - 4,
    UINT64_MAX};

// --- Tables, field by field --------------------------------------------------

// Every version that this reads, with every checksum that it has.
TEST(CraftedTables, WellFormed) {
  for (const uint32_t version : {0u, 1u, 5u, 6u, 7u}) {
    for (uint8_t type = 0; type <= kLastChecksumType; ++type) {
      const auto checksum = static_cast<ChecksumType>(type);
      if (version == 0 && checksum != ChecksumType::kCrc32c) continue;
      SCOPED_TRACE(version * 10 + type);
      Crafted table(version, checksum);
      const BlockHandle filter = table.Add("filter bytes");
      const BlockHandle empty = table.Add("");
      const Walked walked(table.FinishWith(
          Entry("filter.", Handle(filter)) + Entry(kFull, Handle(filter)) +
          Entry("other", Handle(filter)) + Entry(kPartitioned, Handle(empty))));
      const SstFile& file = walked.file;
      EXPECT_EQ(file.format_version, version);
      EXPECT_EQ(file.checksum_base, version >= 6 ? kChecksumBase : 0);
      EXPECT_EQ(file.footer_offset,
                walked.source.Size() - (version == 0 ? 48 : kFooterSize));
      if (version >= 6) {
        EXPECT_EQ(file.metaindex.offset + file.metaindex.size + 5,
                  file.footer_offset);
      }
      EXPECT_GT(file.index.size, 0u);
      ASSERT_EQ(file.filters.size(), 3u);
      EXPECT_EQ(file.filters[0].scope, FilterScope::kPerBlock);
      EXPECT_EQ(file.filters[0].policy, "");
      EXPECT_EQ(file.filters[1].policy, "p");
      EXPECT_EQ(file.filters[2].partitions, 0u);
      EXPECT_EQ(walked.Read(file.filters[1].handle), "filter bytes");
      EXPECT_EQ(walked.Read(file.filters[2].handle), "");
    }
  }
}

// A table with one key, as LevelDB 1.23 wrote it.
TEST(CraftedTables, WorkedExample) {
  const Walked table(FromHex(
      "00010161310000000001000000005f7bff3c0810204080000100060000000009"
      "0000000b0081a4a9e800220266696c7465722e6c6576656c64622e4275696c74"
      "696e426c6f6f6d46696c74657232121200000000010000000007e868a1000102"
      "62000d0000000001000000006c73b0a8292f5d0e000000000000000000000000"
      "00000000000000000000000000000000000000000000000057fb808b247547db"));
  const SstFile& file = table.file;
  EXPECT_EQ(file.metaindex.offset, 41u);
  EXPECT_EQ(file.metaindex.size, 47u);
  EXPECT_EQ(file.index.offset, 93u);
  EXPECT_EQ(file.index.size, 14u);
  ASSERT_EQ(file.filters.size(), 1u);
  EXPECT_EQ(file.filters[0].policy, "leveldb.BuiltinBloomFilter2");
  EXPECT_EQ(table.Read(file.filters[0].handle),
            FromHex("08102040800001000600000000090000000b"));
}

TEST(CraftedTables, HandlesOutsideOfTheFile) {
  for (const uint64_t offset : kExtremes) {
    for (const uint64_t size : kExtremes) {
      if (offset <= 1 && size <= 1) continue;  // inside, see the next test
      SCOPED_TRACE(std::to_string(size) + " at " + std::to_string(offset));
      const BlockHandle bad{offset, size};
      const std::string text = "found a handle to " + std::to_string(size) +
                               " bytes at " + std::to_string(offset);
      Crafted table;
      const BlockHandle empty = table.Add(Block(""));
      ExpectError(Crafted(table).Finish(bad, empty), "metaindex: expected");
      ExpectError(Crafted(table).Finish(bad, empty), text);
      ExpectError(Crafted(table).Finish(empty, bad), "index: expected");
      ExpectError(Crafted(table).Finish(empty, bad), text);
      for (const std::string& name :
           {kFull, kPartitioned, std::string("filter.x"),
            std::string("rocksdb.properties"), std::string("other")}) {
        ExpectError(Crafted(table).FinishWith(Entry(name, Handle(bad))),
                    "metaindex: entry at byte 0: expected a block");
      }
      const BlockHandle partitions =
          table.Add(Block(Entry("key", Handle(bad))));
      ExpectError(table.FinishWith(Entry(kPartitioned, Handle(partitions))),
                  "partition index: entry at byte 0: expected a block");
    }
  }
}

TEST(CraftedTables, HandlesToTheWrongPlace) {
  Crafted table;
  const BlockHandle empty = table.Add(Block(""));
  ExpectError(Crafted(table).Finish({0, 0}, empty), "whose checksum (XXH3)");
  ExpectError(Crafted(table).Finish(empty, {1, 1}), "whose checksum (XXH3)");
  ExpectError(
      Crafted(table).FinishWith(Entry("rocksdb.properties", Handle({0, 1}))),
      "whose checksum (XXH3)");
  // The last block may end right before the footer, and no further.
  const uint64_t end = Crafted(table).Finish(empty, empty).size() - 53;
  ExpectError(Crafted(table).Finish(empty, {0, end - 4}),
              "before the footer at " + std::to_string(end));
  ExpectError(Crafted(table).Finish(empty, {1, end - 5}),
              "before the footer at " + std::to_string(end));
  EXPECT_EQ(Walk(Crafted(table).Finish(empty, {0, end - 5})), "");
}

TEST(CraftedTables, Footers) {
  Crafted table;
  const BlockHandle empty = table.Add(Block(""));
  const std::string good = table.Finish(empty, empty);
  ASSERT_EQ(Walk(good), "");
  const auto with = [&good](size_t from_end, const std::string& bytes) {
    return std::string(good).replace(good.size() - from_end, bytes.size(),
                                     bytes);
  };
  ExpectError("", "expected a table of at least 48 bytes, found 0");
  ExpectError(std::string(47, 'x'), "found 47");
  ExpectError(std::string(48, 'x'), "found 0x7878787878787878");
  ExpectError(good.substr(good.size() - 52), "footer of 53 bytes, found 52");
  ExpectError(with(8, Fixed(0x8242229663bf9564, 8)), "RocksDB's plain table");
  ExpectError(with(8, Fixed(0x4f3418eb7a8f13b8, 8)), "RocksDB's plain table");
  ExpectError(with(8, Fixed(0x926789d0c5f17873, 8)), "RocksDB's cuckoo table");
  ExpectError(with(12, Fixed(0, 4)), "format_version 1 to 8, found 0");
  ExpectError(with(12, Fixed(9, 4)), "format_version 1 to 8, found 9");
  ExpectError(with(12, Fixed(6, 4)), "expected the bytes 3e 00 7a 00");
  ExpectError(with(12, Fixed(UINT32_MAX, 4)), "found 4294967295");
  ExpectError(with(53, Fixed(5, 1)), "checksum type of 0 to 4, found 5");
  ExpectError(with(53, Fixed(255, 1)), "found 255");
  ExpectError(with(52, std::string(40, '\xff')), "no valid varint64");
  ExpectError(with(13, Fixed(1, 1)), "expected zeros after the handles");
}

TEST(CraftedTables, MetaindexEntries) {
  Crafted table;
  const BlockHandle filter = table.Add("filter");
  for (const std::string& value :
       {std::string(), std::string("\x80"), Varint(0), Handle(filter) + "x"}) {
    ExpectError(Crafted(table).FinishWith(Entry(kFull, Handle(filter)) +
                                          Entry("z", value)),
                "metaindex: entry at byte 17: expected a handle, found other");
  }
  const BlockHandle not_a_block = table.Add("abc");
  ExpectError(Crafted(table).Finish(not_a_block, filter),
              "metaindex: expected at least 8 bytes, found 3");
  ExpectError(Crafted(table).FinishWith(
                  Entry("rocksdb.properties", Handle(not_a_block))),
              "properties: expected at least 8 bytes");
  ExpectError(
      Crafted(table).FinishWith(Entry(kPartitioned, Handle(not_a_block))),
      "partition index: expected at least 8 bytes");
}

// --- The index of partitions -------------------------------------------------

// Partition indexes with differences instead of handles, as from
// format_version 4 on.
class PartitionIndex : public ::testing::Test {
 protected:
  // Key, whether it shares the byte "k" with the one before, and the value.
  static std::string Delta(bool shares, const std::string& value) {
    return shares ? Varint(1) + Varint(1) + "y" + value
                  : Varint(0) + Varint(2) + "kx" + value;
  }

  std::string Table(const std::string& entries) const {
    Crafted table = table_;
    const BlockHandle properties = table.Add(
        Block(Entry("rocksdb.index.value.is.delta.encoded", Varint(1))));
    const BlockHandle index = table.Add(Block(entries));
    return table.FinishWith(Entry(kPartitioned, Handle(index)) +
                            Entry("rocksdb.properties", Handle(properties)));
  }

  Crafted table_;
  const BlockHandle first_ = table_.Add(std::string(10, '1'));
  const BlockHandle second_ = table_.Add(std::string(7, '2'));
  const BlockHandle third_ = table_.Add(std::string(90, '3'));
};

TEST_F(PartitionIndex, Differences) {
  const Walked table(
      Table(Delta(false, Handle(first_)) + Delta(true, Varint(5)) +  // 3 less
            Delta(true, Varint(166)) +                               // 83 more
            Delta(false, Handle(second_))));  // not shared: whole
  const auto partitions = table.Parts(table.file.filters.at(0));
  ASSERT_EQ(partitions.size(), 4u);
  const BlockHandle expected[] = {first_, second_, third_, second_};
  uint64_t bytes = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(partitions[i].handle.offset, expected[i].offset);
    EXPECT_EQ(partitions[i].handle.size, expected[i].size);
    EXPECT_EQ(partitions[i].last_key, i == 0 || i == 3 ? "kx" : "ky");
    bytes += expected[i].size;
  }
  EXPECT_EQ(table.file.filters[0].bytes, bytes);
}

TEST_F(PartitionIndex, BadDifferences) {
  const std::string first = Delta(false, Handle(first_));
  const std::pair<std::string, const char*> cases[] = {
      {first + Delta(true, "\x80"), "entry at byte 6: expected a difference"},
      {first + Delta(true, ""), "entry at byte 6: expected a difference"},
      {first + Delta(true, Varint(21)), "entry at byte 6: expected a block"},
      {first + Delta(true, Varint(UINT64_MAX)), "expected a block"},
      {first + Delta(true, Varint(UINT64_MAX - 1)), "expected a block"},
      {first + Delta(true, Varint(2000)), "entry at byte 6: expected a block"},
      {Delta(false, "\x80"), "entry at byte 0: expected a handle"},
      {first + "z", "entry at byte 6: expected the sizes of a key"},
  };
  for (const auto& [entries, error] : cases) ExpectError(Table(entries), error);
}

// From format_version 8 on keys may have a common prefix at the begin of the
// block, differences are stored as one more, and zero stands before a handle.
TEST(CraftedTables, PartitionIndexOfVersion8) {
  for (const uint32_t version : {7U, 8U}) {
    Crafted table(version);
    std::vector<BlockHandle> blocks;
    for (const size_t size : {10U, 7U, 10U, 7U, 20U, 10U}) {
      // The third does not follow the second.
      if (blocks.size() == 2) table.Add("other");
      blocks.push_back(table.Add(std::string(size, 'f')));
    }
    const BlockHandle properties = table.Add(
        Block(Entry("rocksdb.index.value.is.delta.encoded", Varint(1))));
    const auto entry = [](bool shares, const char* key,
                          const std::string& value) {
      return Varint(shares ? 3 : 0) + Varint(1) + key + value;
    };
    const std::string first = "key" + entry(false, "a", Handle(blocks[0])) +
                              entry(true, "b", Varint(5 + 1)) +  // 3 less
                              entry(true, "c", Varint(0) + Handle(blocks[2])) +
                              entry(true, "d", Varint(5 + 1)) +
                              entry(true, "e", Varint(26 + 1));
    const std::string entries = first + entry(false, "f", Handle(blocks[5]));
    const auto with = [&](uint64_t first_restart) {
      Crafted whole = table;
      const BlockHandle index = whole.Add(entries + Fixed(first_restart, 4) +
                                          Fixed(first.size(), 4) + Fixed(2, 4));
      return whole.FinishWith(Entry(kPartitioned, Handle(index)) +
                              Entry("rocksdb.properties", Handle(properties)));
    };
    if (version == 7) {
      ExpectError(with(3), "expected restart point 0 from 0 to 0, found 3");
      continue;
    }
    ExpectError(with(1), "partition index: entry at byte ");
    ExpectError(with(200), "expected restart point 0 from 0 to ");
    std::string bytes = with(3);
    const Walked walked(bytes);
    const std::vector<std::string> filters = {"A", "B", "C", "D", "E", "F"};
    std::vector<SstPatch> patches;
    std::string kept;
    ASSERT_EQ(
        ReplaceFilters(walked.source, walked.file, walked.file.filters.at(0),
                       filters, &patches, &kept),
        "");
    EXPECT_EQ(kept, "");
    for (const SstPatch& patch : patches) {
      bytes.replace(patch.offset, patch.bytes.size(), patch.bytes);
    }
    const Walked replaced(bytes);
    const auto before = walked.Parts(walked.file.filters.at(0));
    const auto after = replaced.Parts(replaced.file.filters.at(0));
    ASSERT_EQ(before.size(), 6u);
    ASSERT_EQ(after.size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      const std::string key = std::string("key") + static_cast<char>('a' + i);
      EXPECT_EQ(before[i].last_key, key);
      EXPECT_EQ(before[i].handle.offset, blocks[i].offset);
      EXPECT_EQ(before[i].handle.size, blocks[i].size);
      EXPECT_EQ(after[i].last_key, key);
      EXPECT_EQ(replaced.Read(after[i].handle), filters[i]);
    }
  }
}

// A handle of a plain partition index must fill its value.
TEST(CraftedTables, PlainPartitionIndex) {
  Crafted table(3);
  const BlockHandle filter = table.Add("filter");
  const BlockHandle index = table.Add(
      Block(Entry("a", Handle(filter)) + Entry("b", Handle(filter) + "x")));
  ExpectError(
      table.FinishWith(Entry(kPartitioned, Handle(index))),
      "partition index: entry at byte 6: expected a handle, found other "
      "bytes");
}

// --- Compression and sequence numbers ----------------------------------------

TEST(CraftedTables, Compression) {
  const auto compressed_of = [](const std::string& bytes) {
    std::string compressed;
    snappy::Compress(bytes.data(), bytes.size(), &compressed);
    return compressed;
  };
  const auto with = [](const std::string& block, uint8_t compression) {
    Crafted table(0, ChecksumType::kCrc32c);
    const BlockHandle empty = table.Add("");
    const BlockHandle handle = table.Add(block, compression);
    return table.Finish(handle, empty);
  };
  const std::string metaindex = Block(Entry("other", Handle({0, 0})));
  const std::string compressed = compressed_of(metaindex);
  EXPECT_EQ(Walk(with(metaindex, 0)), "");
  EXPECT_EQ(Walk(with(compressed, 1)), "");
  ExpectError(with(compressed, 0), "metaindex: ");
  ExpectError(with(metaindex, 1), "bytes that Snappy cannot decompress");
  ExpectError(with("", 1), "bytes that Snappy cannot decompress");
  ExpectError(with(metaindex, 2), "found compression 2");
  ExpectError(with(metaindex, 255), "found compression 255");
  // Claims 4 GiB - 1: must fail without allocating them.
  ExpectError(with(Varint(UINT32_MAX) + "abcdef", 1), "cannot decompress");
  // Nothing compresses better than one byte repeated.
  const std::string large =
      Block(Entry(std::string(100000, 'a'), Handle({0, 0})));
  EXPECT_LT(compressed_of(large).size() * 20, large.size());
  EXPECT_EQ(Walk(with(compressed_of(large), 1)), "");
}

// The sequence number of an ingested file is the only change of properties
// that their checksum forgives.
TEST(CraftedTables, GlobalSequenceNumber) {
  const std::string name = "rocksdb.external_sst_file.global_seqno";
  const auto with = [&name](size_t at, size_t number_size) {
    Crafted table;
    const BlockHandle properties = table.Add(
        Block(Entry("a", Varint(7)) + Entry(name, Fixed(0, number_size))));
    std::string bytes =
        table.FinishWith(Entry("rocksdb.properties", Handle(properties)));
    bytes[at] = static_cast<char>(bytes[at] ^ 8);
    return bytes;
  };
  const size_t number_at = 5 + 3 + name.size();
  SstFile file;
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(Walk(with(number_at + i, 8), &file), "");
  }
  uint64_t value = 0;
  EXPECT_TRUE(file.properties.Number("a", &value));
  EXPECT_EQ(value, 7u);
  ExpectError(with(number_at - 1, 8), "whose checksum (XXH3)");
  ExpectError(with(number_at + 8, 8), "whose checksum (XXH3)");
  ExpectError(with(number_at, 7), "whose checksum (XXH3)");
}

std::string Data(const std::string& name) {
  return DELTABLOOM_TEST_DATA "/sst/rocksdb_9.10_" + name + ".sst";
}

// --- Footers of format_version 6 and 7 ---------------------------------------

TEST(ExtendedFooter, BadFields) {
  const std::string good = Crafted(6).FinishWith("");
  ASSERT_EQ(Walk(good), "");
  const auto with = [&good](size_t at, const std::string& bytes) {
    return std::string(good).replace(good.size() - kFooterSize + at,
                                     bytes.size(), bytes);
  };
  ExpectError(with(1, Fixed(0, 4)), "expected the bytes 3e 00 7a 00");
  ExpectError(with(5, Fixed(0, 4)), "footer whose checksum (XXH3) holds");
  ExpectError(with(9, Fixed(0, 4)), "context checksums other than 0");
  ExpectError(with(9, Fixed(1, 4)), "footer whose checksum (XXH3) holds");
  ExpectError(with(13, Fixed(1, 4)), "footer whose checksum (XXH3) holds");
  ExpectError(with(20, "x"), "footer whose checksum (XXH3) holds");
  ExpectError(with(40, "x"), "footer whose checksum (XXH3) holds");
  ExpectError(with(41, Fixed(7, 4)), "footer whose checksum (XXH3) holds");
  ExpectError(with(0, Fixed(1, 1)), "footer whose checksum (CRC32c) holds");
  ExpectError(good.substr(good.size() - 52), "footer of 53 bytes, found 52");
  // Bytes that an older footer would hold.
  ExpectError(with(1, std::string(40, '\0')), "expected the bytes 3e");
}

// The checksum of the footer is right; a field of it is not.
TEST(ExtendedFooter, BadContent) {
  Crafted table(6);
  const BlockHandle index = table.Add(Block(""));
  const std::string entries = Entry("rocksdb.index", Handle(index));
  {
    Crafted without = table;
    const BlockHandle metaindex = without.Add(Block(""));
    ExpectError(without.Finish(metaindex, {}),
                "metaindex: expected the name rocksdb.index, found none");
  }
  const BlockHandle metaindex = table.Add(Block(entries));
  const std::string blocks = table.Finish(metaindex, {});
  const std::string good = blocks.substr(0, blocks.size() - kFooterSize);
  const auto footer = [&](uint64_t size, const std::string& reserved = {}) {
    return good + table.ExtendedFooter(size, reserved);
  };
  EXPECT_EQ(Walk(footer(metaindex.size)), "");
  ExpectError(footer(metaindex.size - 1), "whose checksum (XXH3) holds");
  ExpectError(footer(0), "whose checksum (XXH3) holds");
  ExpectError(footer(good.size() - 4),
              "expected a metaindex of at most " + std::to_string(good.size()));
  ExpectError(footer(UINT32_MAX), "bytes with its trailer, found 4294967300");
  // Reserved: 16 bytes that mean nothing yet, 8 that would change the meaning.
  EXPECT_EQ(Walk(footer(metaindex.size, std::string(16, 'r'))), "");
  ExpectError(footer(metaindex.size, std::string(16, '\0') + "r"),
              "found a feature of a later version");
  ExpectError(footer(metaindex.size, std::string(23, '\0') + "r"),
              "found a feature of a later version");
}

// From format_version 8 on the upper half of the metaindex's size counts bytes
// between its trailer and the footer.
TEST(ExtendedFooter, BytesAfterTheMetaindex) {
  for (const uint32_t version : {7U, 8U}) {
    Crafted table(version);
    const BlockHandle index = table.Add(Block(""));
    const BlockHandle metaindex =
        table.Add(Block(Entry("rocksdb.index", Handle(index))));
    table.Add("123");  // 8 bytes with its trailer
    const auto with = [&](uint64_t gap) {
      return table.Finish({0, metaindex.size | gap << 16}, {});
    };
    if (version == 7) {
      ExpectError(with(8), "expected a metaindex of at most");
      continue;
    }
    SstFile file;
    EXPECT_EQ(Walk(with(8), &file), "");
    EXPECT_EQ(file.metaindex.offset, metaindex.offset);
    EXPECT_EQ(file.metaindex.size, metaindex.size);
    EXPECT_EQ(file.index.offset, index.offset);
    ExpectError(with(7), "whose checksum (XXH3) holds");
    ExpectError(with(0xffff), "expected a metaindex of at most");
  }
}

// The footer of an older table gives the index, whatever the metaindex says.
TEST(ExtendedFooter, OldTablesHaveTheirIndexInTheFooter) {
  Crafted table(5);
  const BlockHandle index = table.Add(Block(""));
  const BlockHandle other = table.Add("other");
  const BlockHandle metaindex =
      table.Add(Block(Entry("rocksdb.index", Handle(other))));
  SstFile file;
  ASSERT_EQ(Walk(table.Finish(metaindex, index), &file), "");
  EXPECT_EQ(file.index.offset, index.offset);
}

TEST(ExtendedFooter, IndexOutsideOfTheFileOrDamaged) {
  const auto with = [](const BlockHandle& index) {
    Crafted table(7);
    table.Add("some block");
    const BlockHandle metaindex =
        table.Add(Block(Entry("rocksdb.index", Handle(index))));
    return table.Finish(metaindex, {});
  };
  EXPECT_EQ(Walk(with({0, 10})), "");
  ExpectError(with({0, 9}), "offset 0: expected a block of 9 bytes");
  ExpectError(with({UINT64_MAX, 10}), "metaindex: entry at byte 0: expected");
  ExpectError(with({0, UINT64_MAX}), "metaindex: entry at byte 0: expected");
}

// A block and its checksum, sound in themselves, in another place of the file:
// what context checksums are for, even with the checksum type none.
TEST(ExtendedFooter, BlocksInTheWrongPlace) {
  for (const ChecksumType type : {ChecksumType::kXxh3, ChecksumType::kNone}) {
    Crafted table(6, type);
    const BlockHandle first = table.Add("first filter");
    const BlockHandle second = table.Add("other filter");
    std::string bytes = table.FinishWith(Entry("filter.a", Handle(first)) +
                                         Entry("filter.b", Handle(second)));
    bytes.replace(second.offset, second.size + 5,
                  bytes.substr(first.offset, first.size + 5));
    const Walked walked(bytes);
    EXPECT_EQ(walked.Read(first), "first filter");
    std::string block;
    EXPECT_NE(ReadBlock(walked.source, walked.file, second, &block), "");
  }
}

TEST(ExtendedFooter, WorkedExample) {
  const std::string end = FromHex(
      "00250466756c6c66696c7465722e726f636b7364622e4275696c74696e426c6f"
      "6f6d46696c746572991a8501000d04726f636b7364622e696e646578a31b8501"
      "001204726f636b7364622e70726f70657274696573ad1c9607000000002c0000"
      "004000000003000000004897d6af"
      "043e007a00f098aafa24e1155e69000000000000000000000000000000000000"
      "00000000000000000006000000f7cff485b741e288");
  const std::string table = ReadFile(Data("full_xxh3"));
  ASSERT_EQ(table.size(), 4715u);
  ASSERT_EQ(end.size(), 4715u - 4552u);
  EXPECT_EQ(table.substr(4552), end);
  const SstFile file = Walked(table).file;
  EXPECT_EQ(file.checksum_base, 0x5e15e124u);
  EXPECT_EQ(file.footer_offset, 4662u);
  EXPECT_EQ(file.metaindex.offset, 4552u);
  EXPECT_EQ(file.metaindex.size, 105u);
  EXPECT_EQ(file.index.offset, 3491u);
  EXPECT_EQ(file.filters.at(0).handle.offset, 3353u);
  EXPECT_EQ(file.filters.at(0).handle.size, 133u);
  EXPECT_EQ(ChecksumContext(file.checksum_base, 4552), 0x5e15f0ecu);
  EXPECT_EQ(BlockChecksum(file.checksum, end.substr(0, 106)), 0x51c0a65cu);
}

TEST(RocksDB910Tables, Walk) {
  const struct {
    const char* name;
    ChecksumType checksum;
    FilterScope scope;
  } tables[] = {
      {"full_xxh3", ChecksumType::kXxh3, FilterScope::kFull},
      {"full_none", ChecksumType::kNone, FilterScope::kFull},
      {"partitioned_xxh3", ChecksumType::kXxh3, FilterScope::kPartitioned},
      {"partitioned_crc32c", ChecksumType::kCrc32c, FilterScope::kPartitioned},
  };
  for (const auto& table : tables) {
    SCOPED_TRACE(table.name);
    const Walked walked(ReadFile(Data(table.name)));
    const SstFile& file = walked.file;
    EXPECT_EQ(file.format_version, 6u);
    EXPECT_EQ(file.checksum, table.checksum);
    EXPECT_NE(file.checksum_base, 0u);
    EXPECT_EQ(walked.Number("rocksdb.num.filter_entries"), 100u);
    ASSERT_EQ(file.filters.size(), 1u);
    const SstFilter& filter = file.filters[0];
    EXPECT_EQ(filter.scope, table.scope);
    EXPECT_EQ(filter.policy, "rocksdb.BuiltinBloomFilter");
    // RocksDB's own count of filter bytes.
    uint64_t bytes = walked.Number("rocksdb.filter.size");
    const auto parts = walked.Parts(filter);
    if (table.scope == FilterScope::kPartitioned) {
      EXPECT_GE(parts.size(), 2u);
      bytes -= filter.handle.size;
    }
    EXPECT_EQ(filter.bytes, bytes);
    for (const auto& part : parts) walked.Read(part.handle);
  }
}

// --- Reads that fail ---------------------------------------------------------

// A file of which one read fails and fills nothing.
class FailingSource : public MemorySource {
 public:
  FailingSource(std::string bytes, int failing)
      : MemorySource(std::move(bytes)), failing_(failing) {}

  std::string Read(uint64_t offset, size_t n, char* dst) const override {
    if (reads_++ == failing_) return "the disk is gone";
    return MemorySource::Read(offset, n, dst);
  }

 private:
  const int failing_;
  mutable int reads_ = 0;
};

std::string TableOfAllKinds(uint32_t format_version) {
  Crafted table(format_version);
  const BlockHandle partition = table.Add("a partition");
  const BlockHandle partitions =
      table.Add(Block(Entry("key", Handle(partition))));
  const BlockHandle properties =
      table.Add(Block(Entry("rocksdb.num.entries", Varint(3))));
  return table.FinishWith(Entry("partitionedfilter.p", Handle(partitions)) +
                          Entry("rocksdb.properties", Handle(properties)));
}

TEST(ReadErrors, EachEndsTheWalk) {
  for (const uint32_t format_version : {5u, 7u}) {
    const std::string bytes = TableOfAllKinds(format_version);
    // Footer, metaindex, properties, index of partitions, index.
    constexpr int kReads = 5;
    for (int failing = 0; failing < kReads; ++failing) {
      const FailingSource source(bytes, failing);
      SstFile file;
      EXPECT_EQ(WalkSst(source, &file), "the disk is gone") << failing;
    }
    const FailingSource source(bytes, kReads);
    SstFile file;
    EXPECT_EQ(WalkSst(source, &file), "");
    std::string contents;
    EXPECT_EQ(ReadBlock(source, file, file.index, &contents),
              "the disk is gone");
  }
}

// A caller of ReadBlock need not have checked a handle of its own.
TEST(ReadErrors, HandlesOfTheCaller) {
  const Walked table(TableOfAllKinds(5));
  const uint64_t end = table.file.footer_offset;
  for (const BlockHandle& handle :
       {BlockHandle{end - 4, 0}, BlockHandle{0, end - 4}, BlockHandle{end, 1},
        BlockHandle{UINT64_MAX, 1}, BlockHandle{0, UINT64_MAX},
        BlockHandle{UINT64_MAX, UINT64_MAX}}) {
    std::string contents;
    EXPECT_EQ(ReadBlock(table.source, table.file, handle, &contents),
              "table in memory: offset " + std::to_string(handle.offset) +
                  ": expected a block that ends before the footer at " +
                  std::to_string(end) + ", found a handle to " +
                  std::to_string(handle.size) + " bytes at " +
                  std::to_string(handle.offset));
  }
}

// --- Patches -----------------------------------------------------------------

// Each filter is replaced by a smaller one with its handle of the same length;
// the new table has the same size, and checksums that hold.
TEST(ReplaceFilters, InTablesOfRocksDB) {
  int replaced = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(DELTABLOOM_TEST_DATA "/sst")) {
    if (entry.path().extension() != ".sst") continue;
    SCOPED_TRACE(entry.path());
    const std::string bytes = ReadFile(entry.path());
    const MemorySource source(bytes);
    SstFile file;
    if (!internal::WalkSst(source, &file).empty() || file.filters.empty() ||
        file.filters[0].scope == internal::FilterScope::kPerBlock) {
      continue;
    }
    const internal::SstFilter& filter = file.filters[0];
    std::vector<std::string> filters;
    for (const Partition& part : Walked(bytes).Parts(filter)) {
      filters.emplace_back(part.handle.size - 1, 'f');
    }
    std::vector<internal::SstPatch> patches;
    std::string kept;
    ASSERT_EQ(internal::ReplaceFilters(source, file, filter, filters, &patches,
                                       &kept),
              "");
    EXPECT_EQ(kept, "");
    std::string changed = bytes;
    for (const internal::SstPatch& patch : patches) {
      changed.replace(patch.offset, patch.bytes.size(), patch.bytes);
    }
    ASSERT_EQ(changed.size(), bytes.size());
    const Walked table(changed);
    ASSERT_EQ(table.file.filters.size(), 1u);
    for (const Partition& part : table.Parts(table.file.filters[0])) {
      EXPECT_EQ(table.Read(part.handle), std::string(part.handle.size, 'f'));
    }
    // A filter that is longer than the old one leaves it, and there is no
    // other.
    for (std::string& longer : filters) longer.resize(bytes.size(), 'f');
    EXPECT_EQ(internal::ReplaceFilters(source, file, filter, filters, &patches,
                                       &kept),
              "");
    EXPECT_EQ(kept,
              "no filter fits into the bytes and the handle of the old one");
    EXPECT_TRUE(patches.empty());
    ++replaced;
  }
  EXPECT_GE(replaced, 4);
}

}  // namespace
}  // namespace deltabloom::test
