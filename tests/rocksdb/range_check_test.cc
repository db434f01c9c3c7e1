// That the RocksDB the tests run with asks about ranges: on another that does
// not, range parts stay off, and this says so.
#include "engines/rocksdb/policy/library_check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "engines/rocksdb/range/range_extractor.h"

namespace deltabloom::internal {
namespace {

TEST(RangeCheckTest, ThisRocksDBAsksAsExpected) {
  for (const bool partitioned : {false, true}) {
    EXPECT_EQ(RangeProblemIn(partitioned), "");
  }
  EXPECT_EQ(RangeProblem(), "");
}

// As it would on a RocksDB whose seeks do not hand over their bounds. In a
// process of its own, for ranges stay stopped, and it is tried out once.
[[noreturn]] void StopAndTry() {
  StopRanges();
  const char part[] = "full filters: its seeks do not pass their bounds to a";
  const bool found =
      RangeProblemIn(/*partitioned=*/false).find(part) != std::string::npos &&
      RangeProblem().find(part) != std::string::npos;
  std::exit(found ? 0 : 1);
}

TEST(RangeCheckDeathTest, ARocksDBThatDoesNotTellBounds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(StopAndTry(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace deltabloom::internal
