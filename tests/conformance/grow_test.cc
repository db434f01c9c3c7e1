// Room that an allocator gives beyond the plan is used: to the last whole block
// of local, to the last byte of small classic filters, and in compact so far
// that fewer bytes are left than a word of each block takes.
#include <gtest/gtest.h>

#include "util/layouts/layout.h"

namespace deltabloom {
namespace {

using internal::Plan;

uint64_t Grown(const char* layout, uint64_t keys, uint64_t limit) {
  Plan plan =
      internal::PlanFilter(internal::FindLayoutOfName(layout), keys, 10000);
  EXPECT_STREQ(plan.layout->name, layout);
  const uint64_t planned = plan.payload_size;
  plan.layout->grow(&plan, limit);
  EXPECT_GE(plan.payload_size, planned);
  return plan.payload_size;
}

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
