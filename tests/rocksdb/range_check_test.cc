// That the RocksDB the tests run with asks about ranges: on another that does
// not, range parts stay off, and this says so.
#include "engines/rocksdb/range_check.h"

#include <gtest/gtest.h>

namespace deltabloom::internal {
namespace {

TEST(RangeCheckTest, ThisRocksDBAsksAsExpected) {
  for (const bool partitioned : {false, true}) {
    EXPECT_EQ(RangeProblemIn(partitioned), "");
  }
  EXPECT_EQ(RangeProblem(), "");
}

}  // namespace
}  // namespace deltabloom::internal
