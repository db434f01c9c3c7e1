// Varints, block entries and properties, well-formed and not, and the known
// answers of the checksums.
#include "table/sst/block.h"

#include <gtest/gtest.h>

#include "table/sst/sst.h"
#include "tests/random.h"
#include "tests/sst/crafted.h"
#include "util/coding.h"

namespace deltabloom::internal {
namespace {

using test::Entry;
using test::Fixed;
using test::Varint;

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

TEST(Cursor, Varints) {
  const struct {
    std::string bytes;
    bool valid64;
    uint64_t value;
    bool valid32;
  } cases[] = {
      {Bytes({}), false, 0, false},
      {Bytes({0}), true, 0, true},
      {Bytes({127}), true, 127, true},
      {Bytes({128}), false, 0, false},
      {Bytes({128, 1}), true, 128, true},
      {Bytes({128, 0}), false, 0, false},
      {Bytes({255, 128, 0}), false, 0, false},
      {Bytes({255, 255, 255, 255, 15}), true, UINT32_MAX, true},
      {Bytes({128, 128, 128, 128, 16}), true, uint64_t{1} << 32, false},
      {Bytes({255, 255, 255, 255, 255, 255, 255, 255, 255, 1}), true,
       UINT64_MAX, false},
      {Bytes({255, 255, 255, 255, 255, 255, 255, 255, 255, 2}), false, 0,
       false},
      {Bytes({255, 255, 255, 255, 255, 255, 255, 255, 255, 129}), false, 0,
       false},
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

TEST(Block, Malformed) {
  const auto error_of = [](const std::string& block) {
    return ForEachEntry(block, true, [](std::string_view, bool, Cursor*) {
      return std::string();
    });
  };
  const struct {
    std::string block;
    const char* error;
  } cases[] = {
      {"", "expected at least 8 bytes, found 0"},
      {std::string(8, '\0'), "expected 1 to 1 restart points, found 0"},
      {std::string(4, '\0') + Fixed(UINT32_MAX, 4),
       "expected 1 to 1 restart points, found 4294967295"},
      {std::string(7, '\0'), "expected at least 8 bytes, found 7"},
      {std::string(16, '\0'), "expected 1 to 3 restart points, found 0"},
      {std::string(12, '\0') + Fixed(4, 4),
       "expected 1 to 3 restart points, found 4"},
      {Fixed(1, 4) + Fixed(1, 4), "restart point 0: expected 0, found 1"},
      {std::string("abc") + Fixed(0, 4) + Fixed(4, 4) + Fixed(2, 4),
       "restart point 1: expected 0 to 3, found 4"},
      {std::string("abc") + Fixed(0, 4) + Fixed(2, 4) + Fixed(1, 4) +
           Fixed(3, 4),
       "restart point 2: expected 2 to 3, found 1"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of(c.block), c.error);
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
    EXPECT_EQ(error_of(test::Block(first + entry)),
              std::string("entry at byte ") + std::to_string(first.size()) +
                  ": " + error);
  }
}

TEST(Block, RandomBytes) {
  const uint64_t seed = test::SeedOfThisRun();
  SCOPED_TRACE("DELTABLOOM_SEED=" + std::to_string(seed));
  test::Random random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string block = random.Key(random.Below(60));
    for (char& byte : block) {
      if (random.Below(2) == 0) byte = static_cast<char>(random.Below(4));
    }
    if (round % 2 == 0) block += kNoEntries;
    std::string text;
    Parse(block, &text);
    ForEachEntry(block, false, [](std::string_view, bool, Cursor* value) {
      uint64_t ignored;
      return value->Varint64(&ignored) ? std::string() : "no varint";
    });
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
}

TEST(Properties, TextAndNumbers) {
  SstProperties properties;
  EXPECT_TRUE(properties.empty());
  ASSERT_EQ(properties.Parse(test::Block(
                Entry("a", "text") + Entry("b", Varint(300)) + Entry("c", "") +
                // "d" and "de", which share a byte
                Entry("d", Varint(1)) + Varint(1) + Varint(1) + Varint(1) +
                "e" + Varint(2))),
            "");
  EXPECT_FALSE(properties.empty());
  std::string_view text;
  EXPECT_TRUE(properties.Text("a", &text));
  EXPECT_EQ(text, "text");
  EXPECT_TRUE(properties.Text("c", &text));
  EXPECT_EQ(text, "");
  uint64_t number = 0;
  EXPECT_TRUE(properties.Number("b", &number));
  EXPECT_EQ(number, 300u);
  EXPECT_TRUE(properties.Number("d", &number));
  EXPECT_EQ(number, 1u);
  EXPECT_TRUE(properties.Number("de", &number));
  EXPECT_EQ(number, 2u);
  // No varint and nothing else, or not there.
  EXPECT_FALSE(properties.Number("a", &number));
  EXPECT_FALSE(properties.Number("c", &number));
  EXPECT_FALSE(properties.Number("", &number));
  EXPECT_FALSE(properties.Text("e", &text));
  EXPECT_FALSE(properties.Text("aa", &text));
}

TEST(Properties, TheLastOfOneNameCounts) {
  SstProperties properties;
  ASSERT_EQ(
      properties.Parse(test::Block(Entry("a", Varint(1)) + Entry("b", "") +
                                   Entry("a", Varint(2)))),
      "");
  uint64_t number = 0;
  EXPECT_TRUE(properties.Number("a", &number));
  EXPECT_EQ(number, 2u);
}

TEST(Properties, NoneInABadBlock) {
  SstProperties properties;
  ASSERT_EQ(properties.Parse(test::Block(Entry("a", Varint(1)))), "");
  EXPECT_NE(properties.Parse(test::Block(Entry("a", Varint(1)) + "z")), "");
  EXPECT_TRUE(properties.empty());
  uint64_t number = 0;
  EXPECT_FALSE(properties.Number("a", &number));
  EXPECT_NE(properties.Parse("short"), "");
  EXPECT_TRUE(properties.empty());
}

TEST(Properties, GlobalSequenceNumber) {
  const std::string name = "rocksdb.external_sst_file.global_seqno";
  const std::string block =
      test::Block(Entry("a", "b") + Entry(name, Fixed(5, 8)));
  const std::string_view number = FindGlobalSequenceNumber(block);
  EXPECT_EQ(number, Fixed(5, 8));
  EXPECT_GE(number.data(), block.data());  // in the block itself
  EXPECT_LE(number.data() + 8, block.data() + block.size());
  EXPECT_EQ(FindGlobalSequenceNumber(test::Block(Entry(name, Fixed(5, 7)))),
            "");
  EXPECT_EQ(FindGlobalSequenceNumber(test::Block(Entry("a", Fixed(5, 8)))), "");
  EXPECT_EQ(FindGlobalSequenceNumber("short"), "");
}

}  // namespace
}  // namespace deltabloom::internal
