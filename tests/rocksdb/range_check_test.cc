#include "engines/rocksdb/range_check.h"

#include <gtest/gtest.h>
TEST(RangeCheckTest, ThisRocksDBAsksAsExpected) {
  for (const bool partitioned : {false, true}) {
    EXPECT_EQ(deltabloom::internal::RangeProblemIn(partitioned), "");
  }
  EXPECT_EQ(deltabloom::internal::RangeProblem(), "");
}
