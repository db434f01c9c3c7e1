// Tables made by hand: right checksums around wrong content, which no engine
// writes and no damage of a real file reaches.
#include "tests/sst/crafted.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include "table/sst/sst.h"
#include "tests/csv.h"
#include "tests/sst/memory_source.h"
#include "tests/sst/partitions.h"

namespace deltabloom::internal {
namespace {

using test::Block;
using test::Crafted;
using test::Entry;
using test::Fixed;
using test::Handle;
using test::Varint;

std::string Walk(const std::string& bytes, SstFile* file) {
  return WalkSst(test::MemorySource(bytes), file);
}

void ExpectError(const std::string& bytes, const std::string& part) {
  SstFile file;
  const std::string error = Walk(bytes, &file);
  EXPECT_NE(error.find(part), std::string::npos)
      << "expected: " << part << "\nfound: " << error;
  EXPECT_EQ(error.rfind("table in memory: offset ", 0), 0u) << error;
}

const std::string kFull = "fullfilter.p";
const std::string kPartitioned = "partitionedfilter.p";
const uint64_t kExtremes[] = {0,
                              1,
                              200,
                              uint64_t{1} << 31,
                              uint64_t{1} << 32,
                              uint64_t{1} << 63,
                              UINT64_MAX - 4,
                              UINT64_MAX};

TEST(CraftedTables, WellFormed) {
  for (const uint32_t version : {0u, 1u, 5u, 6u, 7u}) {
    Crafted table(version, ChecksumType::kCrc32c);
    const BlockHandle filter = table.Add("filter bytes");
    SstFile file;
    const test::MemorySource source(
        table.FinishWith(Entry("filter.", Handle(filter)) +
                         Entry("fullfilter.p", Handle(filter)) +
                         Entry("other", Handle(filter))));
    ASSERT_EQ(WalkSst(source, &file), "");
    EXPECT_EQ(file.format_version, version);
    ASSERT_EQ(file.filters.size(), 2u);
    EXPECT_EQ(file.filters[0].scope, FilterScope::kPerBlock);
    EXPECT_EQ(file.filters[0].policy, "");
    EXPECT_EQ(file.filters[1].policy, "p");
    std::string bytes;
    EXPECT_EQ(ReadBlock(source, file, file.filters[1].handle, &bytes), "");
    EXPECT_EQ(bytes, "filter bytes");
  }
}

// The table of docs/format.md, as LevelDB 1.23 wrote it.
TEST(CraftedTables, WorkedExample) {
  const test::MemorySource source(test::FromHex(
      "00010161310000000001000000005f7bff3c0810204080000100060000000009"
      "0000000b0081a4a9e800220266696c7465722e6c6576656c64622e4275696c74"
      "696e426c6f6f6d46696c74657232121200000000010000000007e868a1000102"
      "62000d0000000001000000006c73b0a8292f5d0e000000000000000000000000"
      "00000000000000000000000000000000000000000000000057fb808b247547db"));
  ASSERT_EQ(source.Size(), 160u);
  SstFile file;
  ASSERT_EQ(WalkSst(source, &file), "");
  EXPECT_EQ(file.metaindex.offset, 41u);
  EXPECT_EQ(file.metaindex.size, 47u);
  EXPECT_EQ(file.index.offset, 93u);
  EXPECT_EQ(file.index.size, 14u);
  ASSERT_EQ(file.filters.size(), 1u);
  EXPECT_EQ(file.filters[0].policy, "leveldb.BuiltinBloomFilter2");
  std::string block;
  EXPECT_EQ(ReadBlock(source, file, file.filters[0].handle, &block), "");
  EXPECT_EQ(block, test::FromHex("0810204080000100060000000009000000"
                                 "0b"));
}

TEST(CraftedTables, FiltersOfNoBytes) {
  for (uint8_t type = 0; type <= kLastChecksumType; ++type) {
    Crafted table(5, static_cast<ChecksumType>(type));
    const BlockHandle filter = table.Add("");
    const test::MemorySource source(table.FinishWith(
        Entry(kFull, Handle(filter)) + Entry(kPartitioned, Handle(filter))));
    SstFile file;
    ASSERT_EQ(WalkSst(source, &file), "");
    ASSERT_EQ(file.filters.size(), 2u);
    EXPECT_EQ(file.filters[1].partitions, 0u);
    std::string bytes = "old";
    EXPECT_EQ(ReadBlock(source, file, file.filters[0].handle, &bytes), "");
    EXPECT_EQ(bytes, "");
  }
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
  // The last block may end right in front of the footer, and no further.
  const uint64_t end = Crafted(table).Finish(empty, empty).size() - 53;
  ExpectError(Crafted(table).Finish(empty, {0, end - 4}),
              "in front of the footer at " + std::to_string(end));
  ExpectError(Crafted(table).Finish(empty, {1, end - 5}),
              "in front of the footer at " + std::to_string(end));
  SstFile file;
  EXPECT_EQ(Walk(Crafted(table).Finish(empty, {0, end - 5}), &file), "");
}

TEST(CraftedTables, Footers) {
  Crafted table;
  const BlockHandle empty = table.Add(Block(""));
  const std::string good = table.Finish(empty, empty);
  SstFile file;
  ASSERT_EQ(Walk(good, &file), "");
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
  ExpectError(with(12, Fixed(0, 4)), "format_version 1 to 7, found 0");
  ExpectError(with(12, Fixed(8, 4)), "format_version 1 to 7, found 8");
  ExpectError(with(12, Fixed(6, 4)), "expected the bytes 3e 00 7a 00");
  ExpectError(with(12, Fixed(UINT32_MAX, 4)), "found 4294967295");
  ExpectError(with(53, Fixed(5, 1)), "checksum type of 0 to 4, found 5");
  ExpectError(with(53, Fixed(255, 1)), "found 255");
  ExpectError(with(52, std::string(40, '\xff')), "no valid varint64");
  ExpectError(with(13, Fixed(1, 1)), "expected zeros behind the handles");
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
  const test::MemorySource source(
      Table(Delta(false, Handle(first_)) + Delta(true, Varint(5)) +  // 3 less
            Delta(true, Varint(166)) +                               // 83 more
            Delta(false, Handle(second_))));  // not shared: whole
  SstFile file;
  ASSERT_EQ(WalkSst(source, &file), "");
  const auto partitions = test::PartitionsOf(source, file, file.filters.at(0));
  ASSERT_EQ(partitions.size(), 4u);
  const BlockHandle expected[] = {first_, second_, third_, second_};
  uint64_t bytes = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(partitions[i].handle.offset, expected[i].offset);
    EXPECT_EQ(partitions[i].handle.size, expected[i].size);
    EXPECT_EQ(partitions[i].last_key, i == 0 || i == 3 ? "kx" : "ky");
    bytes += expected[i].size;
  }
  EXPECT_EQ(file.filters[0].bytes, bytes);
}

TEST_F(PartitionIndex, BadDifferences) {
  const std::string first = Delta(false, Handle(first_));
  const struct {
    std::string entries;
    const char* error;
  } cases[] = {
      {first + Delta(true, "\x80"), "entry at byte 6: expected a difference"},
      {first + Delta(true, ""), "entry at byte 6: expected a difference"},
      {first + Delta(true, Varint(21)), "entry at byte 6: expected a block"},
      {first + Delta(true, Varint(UINT64_MAX)), "expected a block"},
      {first + Delta(true, Varint(UINT64_MAX - 1)), "expected a block"},
      {first + Delta(true, Varint(2000)), "entry at byte 6: expected a block"},
      {Delta(false, "\x80"), "entry at byte 0: expected a handle"},
      {first + "z", "entry at byte 6: expected the sizes of a key"},
  };
  for (const auto& c : cases) {
    ExpectError(Table(c.entries), c.error);
  }
}

// A handle of a plain partition index must fill its value.
TEST(CraftedTables, PlainPartitionIndex) {
  Crafted table(3);
  const BlockHandle filter = table.Add("filter");
  const BlockHandle index = table.Add(
      Block(Entry("a", Handle(filter)) + Entry("b", Handle(filter) + "x")));
  ExpectError(table.FinishWith(Entry(kPartitioned, Handle(index))),
              "partition index: entry at byte 6: expected nothing behind a "
              "handle, found 1 bytes");
}

TEST(CraftedTables, Compression) {
  const std::string metaindex = Block(Entry("other", Handle({0, 0})));
  std::string compressed;
  snappy::Compress(metaindex.data(), metaindex.size(), &compressed);
  const auto with = [](const std::string& block, uint8_t compression) {
    Crafted table(0, ChecksumType::kCrc32c);
    const BlockHandle empty = table.Add("");
    const BlockHandle handle = table.Add(block, compression);
    return table.Finish(handle, empty);
  };
  SstFile file;
  EXPECT_EQ(Walk(with(metaindex, 0), &file), "");
  EXPECT_EQ(Walk(with(compressed, 1), &file), "");
  ExpectError(with(compressed, 0), "metaindex: ");
  ExpectError(with(metaindex, 1), "bytes that Snappy cannot decompress");
  ExpectError(with("", 1), "bytes that Snappy cannot decompress");
  ExpectError(with(metaindex, 2), "found compression 2");
  ExpectError(with(metaindex, 255), "found compression 255");
  // Claims 4 GiB - 1: must fail without allocating them.
  ExpectError(with(Varint(UINT32_MAX) + "abcdef", 1), "cannot decompress");
}

TEST(CraftedTables, LargestSnappyRatio) {
  // Nothing compresses better than one byte repeated.
  std::string metaindex =
      Block(Entry(std::string(100000, 'a'), Handle({0, 0})));
  std::string compressed;
  snappy::Compress(metaindex.data(), metaindex.size(), &compressed);
  EXPECT_LT(compressed.size() * 20, metaindex.size());
  Crafted table(0, ChecksumType::kCrc32c);
  const BlockHandle empty = table.Add("");
  const BlockHandle handle = table.Add(compressed, 1);
  SstFile file;
  EXPECT_EQ(Walk(table.Finish(handle, empty), &file), "");
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

}  // namespace
}  // namespace deltabloom::internal
