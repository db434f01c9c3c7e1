// The footer of format_version 6 and later, and checksums that depend on the
// place: by hand, and in tables that RocksDB 9.10 wrote (tests/data/sst).
#include <gtest/gtest.h>

#include "table/sst/sst.h"
#include "tests/csv.h"
#include "tests/sst/crafted.h"
#include "tests/sst/memory_source.h"
#include "tests/sst/partitions.h"

namespace deltabloom::internal {
namespace {

using test::Block;
using test::Crafted;
using test::Entry;
using test::Fixed;
using test::Handle;

constexpr size_t kFooterSize = 53;

std::string Data(const std::string& name) {
  return DELTABLOOM_TEST_DATA "/sst/rocksdb_9.10_" + name + ".sst";
}

std::string Walk(const std::string& bytes) {
  SstFile file;
  return WalkSst(test::MemorySource(bytes), &file);
}

void ExpectError(const std::string& bytes, const std::string& part) {
  const std::string error = Walk(bytes);
  EXPECT_NE(error.find(part), std::string::npos)
      << "expected: " << part << "\nfound: " << error;
  EXPECT_EQ(error.rfind("table in memory: offset ", 0), 0u) << error;
}

TEST(ChecksumContext, KnownAnswers) {
  EXPECT_EQ(ChecksumContext(0, 0), 0u);
  EXPECT_EQ(ChecksumContext(0, 12345), 0u);
  EXPECT_EQ(ChecksumContext(0xabcd0123, 0), 0xabcd0123u);
  EXPECT_EQ(ChecksumContext(0xabcd0123, 0x10), 0xabcd0133u);
  EXPECT_EQ(ChecksumContext(7, 0x500000000 + 3), 7u ^ 8u);
  EXPECT_EQ(ChecksumContext(1, 0x1ffffffff), 1u);  // modulo 2^32
}

TEST(ExtendedFooter, EveryChecksum) {
  for (const uint32_t version : {6u, 7u}) {
    for (uint8_t type = 0; type <= kLastChecksumType; ++type) {
      SCOPED_TRACE(version * 10 + type);
      Crafted table(version, static_cast<ChecksumType>(type));
      const BlockHandle filter = table.Add("filter bytes");
      const test::MemorySource source(
          table.FinishWith(Entry("fullfilter.p", Handle(filter))));
      SstFile file;
      ASSERT_EQ(WalkSst(source, &file), "");
      EXPECT_EQ(file.format_version, version);
      EXPECT_EQ(file.checksum_base, test::kChecksumBase);
      EXPECT_EQ(file.footer_offset, source.Size() - kFooterSize);
      EXPECT_EQ(file.metaindex.offset + file.metaindex.size + 5,
                file.footer_offset);
      EXPECT_GT(file.index.size, 0u);
      ASSERT_EQ(file.filters.size(), 1u);
      std::string bytes;
      EXPECT_EQ(ReadBlock(source, file, file.filters[0].handle, &bytes), "");
      EXPECT_EQ(bytes, "filter bytes");
    }
  }
}

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

// With a checksum of the footer that holds.
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
  // Reserved: 16 bytes that say nothing yet, 8 that would change the meaning.
  EXPECT_EQ(Walk(footer(metaindex.size, std::string(16, 'r'))), "");
  ExpectError(footer(metaindex.size, std::string(16, '\0') + "r"),
              "found a feature of a later version");
  ExpectError(footer(metaindex.size, std::string(23, '\0') + "r"),
              "found a feature of a later version");
}

// In older tables the footer tells the index, whatever the metaindex says.
TEST(ExtendedFooter, OldTablesHaveTheirIndexInTheFooter) {
  Crafted table(5);
  const BlockHandle index = table.Add(Block(""));
  const BlockHandle other = table.Add("other");
  const BlockHandle metaindex =
      table.Add(Block(Entry("rocksdb.index", Handle(other))));
  SstFile file;
  ASSERT_EQ(WalkSst(test::MemorySource(table.Finish(metaindex, index)), &file),
            "");
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
    const test::MemorySource source(bytes);
    SstFile file;
    ASSERT_EQ(WalkSst(source, &file), "");
    std::string block;
    EXPECT_EQ(ReadBlock(source, file, first, &block), "");
    EXPECT_NE(ReadBlock(source, file, second, &block), "");
  }
}

// The worked example of docs/format.md.
TEST(ExtendedFooter, WorkedExample) {
  const std::string end = test::FromHex(
      "00250466756c6c66696c7465722e726f636b7364622e4275696c74696e426c6f"
      "6f6d46696c746572991a8501000d04726f636b7364622e696e646578a31b8501"
      "001204726f636b7364622e70726f70657274696573ad1c9607000000002c0000"
      "004000000003000000004897d6af"
      "043e007a00f098aafa24e1155e69000000000000000000000000000000000000"
      "00000000000000000006000000f7cff485b741e288");
  const std::string table = test::ReadFile(Data("full_xxh3"));
  ASSERT_EQ(table.size(), 4715u);
  ASSERT_EQ(end.size(), 4715u - 4552u);
  EXPECT_EQ(table.substr(4552), end);
  SstFile file;
  ASSERT_EQ(WalkSst(test::MemorySource(table), &file), "");
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

struct Written {
  const char* name;
  ChecksumType checksum;
  FilterScope scope;
  uint64_t keys;
};

TEST(RocksDB910Tables, Walk) {
  const Written tables[] = {
      {"full_xxh3", ChecksumType::kXxh3, FilterScope::kFull, 100},
      {"full_none", ChecksumType::kNone, FilterScope::kFull, 100},
      {"partitioned_xxh3", ChecksumType::kXxh3, FilterScope::kPartitioned, 100},
      {"partitioned_crc32c", ChecksumType::kCrc32c, FilterScope::kPartitioned,
       100},
  };
  for (const Written& table : tables) {
    SCOPED_TRACE(table.name);
    const test::MemorySource source(test::ReadFile(Data(table.name)));
    SstFile file;
    ASSERT_EQ(WalkSst(source, &file), "");
    EXPECT_EQ(file.format_version, 6u);
    EXPECT_EQ(file.checksum, table.checksum);
    EXPECT_NE(file.checksum_base, 0u);
    uint64_t number = 0;
    EXPECT_TRUE(file.properties.Number("rocksdb.num.filter_entries", &number));
    EXPECT_EQ(number, table.keys);
    ASSERT_EQ(file.filters.size(), 1u);
    const SstFilter& filter = file.filters[0];
    EXPECT_EQ(filter.scope, table.scope);
    EXPECT_EQ(filter.policy, "rocksdb.BuiltinBloomFilter");
    // What RocksDB counted itself.
    EXPECT_TRUE(file.properties.Number("rocksdb.filter.size", &number));
    std::string bytes;
    if (table.scope == FilterScope::kFull) {
      EXPECT_EQ(filter.bytes, number);
      EXPECT_EQ(ReadBlock(source, file, filter.handle, &bytes), "");
      continue;
    }
    EXPECT_GE(filter.partitions, 2u);
    EXPECT_EQ(filter.handle.size + filter.bytes, number);
    for (const auto& partition : test::PartitionsOf(source, file, filter)) {
      EXPECT_EQ(ReadBlock(source, file, partition.handle, &bytes), "");
    }
  }
}

}  // namespace
}  // namespace deltabloom::internal
