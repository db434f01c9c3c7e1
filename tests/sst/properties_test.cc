// RocksDB's table properties in their block.
#include "table/sst/properties.h"

#include <gtest/gtest.h>

#include "tests/sst/crafted.h"

namespace deltabloom::internal {
namespace {

using test::Block;
using test::Entry;
using test::Fixed;
using test::Varint;

TEST(Properties, TextAndNumbers) {
  SstProperties properties;
  EXPECT_TRUE(properties.empty());
  ASSERT_EQ(properties.Parse(Block(Entry("a", "text") +
                                   Entry("b", Varint(300)) + Entry("c", "") +
                                   // "d" and "de", which share a byte
                                   Entry("d", Varint(1)) + Varint(1) +
                                   Varint(1) + Varint(1) + "e" + Varint(2))),
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
  ASSERT_EQ(properties.Parse(Block(Entry("a", Varint(1)) + Entry("b", "") +
                                   Entry("a", Varint(2)))),
            "");
  uint64_t number = 0;
  EXPECT_TRUE(properties.Number("a", &number));
  EXPECT_EQ(number, 2u);
}

TEST(Properties, NoneInABadBlock) {
  SstProperties properties;
  ASSERT_EQ(properties.Parse(Block(Entry("a", Varint(1)))), "");
  EXPECT_NE(properties.Parse(Block(Entry("a", Varint(1)) + "z")), "");
  EXPECT_TRUE(properties.empty());
  uint64_t number = 0;
  EXPECT_FALSE(properties.Number("a", &number));
  EXPECT_NE(properties.Parse("short"), "");
  EXPECT_TRUE(properties.empty());
}

TEST(Properties, GlobalSequenceNumber) {
  const std::string name = "rocksdb.external_sst_file.global_seqno";
  const std::string block = Block(Entry("a", "b") + Entry(name, Fixed(5, 8)));
  const std::string_view number = FindGlobalSequenceNumber(block);
  EXPECT_EQ(number, Fixed(5, 8));
  EXPECT_GE(number.data(), block.data());  // in the block itself
  EXPECT_LE(number.data() + 8, block.data() + block.size());
  EXPECT_EQ(FindGlobalSequenceNumber(Block(Entry(name, Fixed(5, 7)))), "");
  EXPECT_EQ(FindGlobalSequenceNumber(Block(Entry("a", Fixed(5, 8)))), "");
  EXPECT_EQ(FindGlobalSequenceNumber("short"), "");
}

}  // namespace
}  // namespace deltabloom::internal
