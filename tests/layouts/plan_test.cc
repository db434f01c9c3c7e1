// The arithmetic of plans, up to sizes that no test can allocate.
#include "tests/layouts/subject.h"
#include "tests/random.h"
#include "tests/reference/reference.h"

namespace deltabloom {
namespace {

using internal::LayoutRow;
using internal::Plan;

class PlanTest : public testing::TestWithParam<const LayoutRow*> {
 protected:
  void SetUp() override { ASSERT_NE(reference_, nullptr); }

  void Check(uint64_t keys, uint32_t millibits) {
    const Plan plan = PlanFilter(&row_, keys, millibits);
    ASSERT_EQ(plan.keys, keys);
    ASSERT_EQ(plan.payload_size, reference_->payload_size(keys, millibits))
        << keys << " keys, millibits per key " << millibits;
    ASSERT_GE(plan.last_byte, plan.layout->first_marker);
    ASSERT_LE(plan.last_byte, plan.layout->last_marker);
    ASSERT_TRUE(plan.layout == &row_ || plan.layout == row_.fallback);
  }

  const LayoutRow& row_ = *GetParam();
  const reference::Reference* const reference_ =
      reference::FindReference(row_.name);
};

TEST_P(PlanTest, SizeEqualsReference) {
  test::Random random(test::SeedOr(20260101));
  for (uint32_t millibits : {0u, 1u, 500u, 999u, 1000u, 1449u, 1450u, 9900u,
                             10000u, 10001u, 43478u, 99999u, 1000000u}) {
    for (uint64_t keys = 0; keys < 3000; ++keys) Check(keys, millibits);
    for (int i = 0; i < 3000; ++i) {
      Check(random.Next() >> random.Below(64), millibits);
    }
    // Around 2^32 bits.
    if (millibits == 0) continue;
    const uint64_t edge = (uint64_t{1} << 32) * 1000 / millibits;
    for (uint64_t keys = edge - 100; keys < edge + 100; ++keys) {
      Check(keys, millibits);
    }
    Check(~uint64_t{0}, millibits);
  }
}

TEST_P(PlanTest, GrowNeverShrinksNorExceedsTheLimit) {
  test::Random random(test::SeedOr(20260102));
  for (int i = 0; i < 10000; ++i) {
    const auto millibits = static_cast<uint32_t>(random.Below(30000));
    const Plan plan =
        PlanFilter(&row_, random.Next() >> random.Below(64), millibits);
    const uint64_t limit = plan.payload_size + random.Below(1000) - 500;
    Plan grown = plan;
    plan.layout->grow(&grown, limit);
    ASSERT_GE(grown.payload_size, plan.payload_size);
    ASSERT_LE(grown.payload_size, std::max(limit, plan.payload_size));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, PlanTest, testing::ValuesIn(test::AllRows()),
                         [](const auto& row) {
                           return test::NameOf(*row.param);
                         });

uint64_t Grown(const char* layout, uint64_t keys, uint64_t limit) {
  Plan plan =
      internal::PlanFilter(internal::FindLayoutOfName(layout), keys, 10000);
  EXPECT_STREQ(plan.layout->name, layout);
  const uint64_t planned = plan.payload_size;
  plan.layout->grow(&plan, limit);
  EXPECT_GE(plan.payload_size, planned);
  return plan.payload_size;
}

// Room that an allocator gives beyond the plan is used: to the last whole block
// of local, to the last byte of small classic filters, and in compact until
// fewer bytes are left than a word of each block takes.
TEST(Grow, UsesTheRoom) {
  // 1000 keys at 10 bits are 20 blocks of 64 bytes in local, 1250 bytes in
  // classic.
  EXPECT_EQ(Grown("local", 1000, 1000), 1280u);
  EXPECT_EQ(Grown("local", 1000, 1280), 1280u);
  EXPECT_EQ(Grown("local", 1000, 1343), 1280u);
  EXPECT_EQ(Grown("local", 1000, 1344), 1344u);
  EXPECT_EQ(Grown("local", 1000, 2047), 1984u);
  EXPECT_EQ(Grown("classic", 1000, 1000), 1250u);
  EXPECT_EQ(Grown("classic", 1000, 1251), 1251u);
  EXPECT_EQ(Grown("classic", 1000, 2047), 2047u);
  // 16 blocks of words of 8 bytes, 1250 bytes as planned.
  EXPECT_EQ(Grown("compact", 1000, 1000), Grown("compact", 1000, 0));
  EXPECT_GT(Grown("compact", 1000, 1400), 1400u - 16 * 8);
  EXPECT_LE(Grown("compact", 1000, 1400), 1400u);
}

}  // namespace
}  // namespace deltabloom
