// The formulas against values known otherwise.
#include "db_bench_ext/filter_bench/theory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace deltabloom::test {
namespace {

using bench::BinomialError;
using bench::BlockedBloomRate;
using bench::BloomRate;
using bench::RocksDBRate;

TEST(Theory, BloomFilter) {
  // The textbook's (1 - e^(-kn/m))^k at 10 bits per key: .00844 with 6 probes,
  // .00819 with 7.
  EXPECT_NEAR(BloomRate(1e7, 6, 1e6, 64), 0.008437, 1e-6);
  EXPECT_NEAR(BloomRate(1e7, 7, 1e6, 64), 0.008194, 1e-6);
  // A 32-bit hash adds about n / 2^32.
  EXPECT_NEAR(BloomRate(1e9, 6, 1e8, 32) - BloomRate(1e9, 6, 1e8, 64),
              1e8 / 4294967296.0, 5e-4);
}

TEST(Theory, BlocksCostAccuracy) {
  // One block is a plain filter but for the scatter of its keys; small blocks
  // are worse.
  EXPECT_NEAR(BlockedBloomRate(1, 1e7, 6, 1e6, 64), BloomRate(1e7, 6, 1e6, 64),
              1e-6);
  const double lines = BlockedBloomRate(1e7 / 512, 512, 6, 1e6, 64);
  EXPECT_GT(lines, 1.1 * BloomRate(1e7, 6, 1e6, 64));
  // RocksDB states .957 % for its filter at 10 bits per key.
  EXPECT_NEAR(lines, 0.00957, 5e-5);
}

TEST(Theory, OfRocksDBsBytes) {
  std::string bloom(64 * 100, '\0');
  bloom += std::string("\xff\x00\x06\x00\x00", 5);
  EXPECT_NEAR(RocksDBRate(bloom, 5120).value(),
              BlockedBloomRate(100, 512, 6, 5120, 64), 1e-12);

  // Ten blocks of 128 rows with seven columns each: 2^-7.
  std::string ribbon(16 * 70, '\0');
  ribbon += std::string("\xfe\x00\x0a\x00\x00", 5);
  EXPECT_NEAR(RocksDBRate(ribbon, 1000).value(), std::exp2(-7), 1e-9);
  // With five columns more than six everywhere: between 2^-6 and 2^-7.
  std::string mixed(16 * 65, '\0');
  mixed += std::string("\xfe\x00\x0a\x00\x00", 5);
  EXPECT_GT(RocksDBRate(mixed, 1000).value(), std::exp2(-7));
  EXPECT_LT(RocksDBRate(mixed, 1000).value(), std::exp2(-6));

  EXPECT_FALSE(RocksDBRate(std::string(5, '\0'), 1).has_value());
  EXPECT_FALSE(RocksDBRate(std::string(100, '\0'), 1).has_value());
}

TEST(Theory, BinomialErrorOfARate) {
  EXPECT_DOUBLE_EQ(BinomialError(0.5, 100), 0.05);
  EXPECT_DOUBLE_EQ(BinomialError(0, 100), 0);
}

}  // namespace
}  // namespace deltabloom::test
