#include "db_bench_ext/torture/keys.h"

#include <gtest/gtest.h>

#include "db_bench_ext/torture/extensions.h"

namespace deltabloom::torture {
namespace {

TEST(TortureKeysTest, AreInOrderAndParsed) {
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    for (uint32_t key = 0; key < kKeys; ++key) {
      const std::string text = KeyText(slot, key);
      uint32_t parsed = kKeys;
      ASSERT_TRUE(ParseKey(slot, text, &parsed)) << text;
      EXPECT_EQ(parsed, key);
      EXPECT_FALSE(ParseKey(slot, AbsentKeyText(slot, key), &parsed));
      if (key > 0) {
        EXPECT_LT(KeyText(slot, key - 1), text);
      }
    }
  }
  uint32_t parsed = 0;
  EXPECT_FALSE(ParseKey(0, "", &parsed));
  EXPECT_FALSE(ParseKey(0, "k0000-0x", &parsed));
  EXPECT_FALSE(ParseKey(0, "k9999-00", &parsed));
}

TEST(TortureKeysTest, CapitalsMakeNoDifferenceToTheFoldedSlot) {
  const std::string text = KeyText(kFoldedSlot, 17);
  const std::string other = WithCapitals(text, 1);
  EXPECT_NE(text, other);
  EXPECT_EQ(WithoutCapitals(other), text);
  EXPECT_EQ(FoldingComparator()->Compare(text, other), 0);
  EXPECT_LT(FoldingComparator()->Compare(other, KeyText(kFoldedSlot, 18)), 0);
  EXPECT_GT(FoldingComparator()->Compare(AbsentKeyText(kFoldedSlot, 17), other),
            0);
  uint32_t key = 0;
  EXPECT_TRUE(ParseKey(kFoldedSlot, other, &key));
  EXPECT_EQ(key, 17u);
}

TEST(TortureKeysTest, FamiliesHaveNames) {
  uint32_t slot = 9;
  uint32_t generation = 9;
  EXPECT_TRUE(ParseFamilyName("default", &slot, &generation));
  EXPECT_EQ(slot, 0u);
  EXPECT_TRUE(ParseFamilyName(FamilyName(2, 345), &slot, &generation));
  EXPECT_EQ(slot, 2u);
  EXPECT_EQ(generation, 345u);
  for (const char* const name :
       {"", "slot", "slot1", "slot1.", "slot0.1", "slot4.1", "slot1.x"}) {
    EXPECT_FALSE(ParseFamilyName(name, &slot, &generation)) << name;
  }
}

TEST(TortureKeysTest, ValuesTellTheirWrites) {
  EXPECT_EQ(DescribeValue(std::nullopt), "no value");
  const std::string one = Merged(std::nullopt, ValueText(5));
  EXPECT_EQ(DescribeValue(one), "write 5");
  EXPECT_EQ(DescribeValue(Merged(one, ValueText(77))), "write 5 + write 77");
  EXPECT_EQ(DescribeValue(one + "x"), "bytes of no write");
  EXPECT_EQ(DescribeValue(""), "bytes of no write");
}

}  // namespace
}  // namespace deltabloom::torture
