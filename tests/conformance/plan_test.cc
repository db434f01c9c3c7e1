// The arithmetic of plans, up to sizes that no test can allocate.
#include <gtest/gtest.h>

#include "tests/conformance/subject.h"
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

INSTANTIATE_TEST_SUITE_P(
    Rows, PlanTest, testing::ValuesIn(test::AllRows()),
    [](const testing::TestParamInfo<const LayoutRow*>& param) {
      std::string name = param.param->name;
      for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace deltabloom
