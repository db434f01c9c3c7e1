// The memory that building is said to take, as numbers: it decides which
// layout max_build_bytes allows. tests/conformance/adversarial_test.cc compares
// it with what the allocator saw, within its bounds.
#include <gtest/gtest.h>

#include "util/layouts/layout.h"

namespace deltabloom {
namespace {

TEST(CompactBuildBytes, KnownAnswers) {
  struct Known {
    uint64_t keys;
    uint32_t millibits;
    uint64_t build_bytes;
    uint64_t late_build_bytes;
  };
  // 100,000 keys have 101,056 rows: each of them takes 8 bytes and a
  // fingerprint of 1, 2 or 4.
  static_assert(1039232 - 938176 == 101056 && 1241344 - 1039232 == 2 * 101056);
  for (const Known& known : {
           Known{1000, 10000, 28304, 12288},
           Known{100000, 3000, 1804112, 938176},
           Known{100000, 7900, 1804112, 938176},
           Known{100000, 10000, 1905168, 1039232},
           Known{100000, 16000, 1905168, 1039232},
           Known{100000, 20000, 2107280, 1241344},
           Known{10000000, 10000, 183800432, 103528576},
       }) {
    const internal::Plan plan = internal::PlanFilter(
        internal::FindLayoutOfName("compact"), known.keys, known.millibits);
    ASSERT_STREQ(plan.layout->name, "compact");
    EXPECT_EQ(plan.build_bytes, known.build_bytes)
        << known.keys << ", " << known.millibits;
    EXPECT_EQ(plan.late_build_bytes, known.late_build_bytes)
        << known.keys << ", " << known.millibits;
  }
}

}  // namespace
}  // namespace deltabloom
