// The statistics as text, JSON and for Prometheus, and the advice from them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "deltabloom/rocksdb_statistics.h"

namespace deltabloom::testing {
namespace {

RocksDBFilterRow Row(int level, const std::string& layout) {
  RocksDBFilterRow row;
  row.level = level;
  row.layout = layout;
  row.rate_known = layout != "rocksdb" && layout != "always";
  return row;
}

// A row with lookups of absent keys that matched at this rate.
RocksDBFilterRow Asked(int level, const std::string& layout, double keys,
                       double bits_per_key, double absent, double rate) {
  RocksDBFilterRow row = Row(level, layout);
  row.filters_open = 1;
  row.keys_open = static_cast<uint64_t>(keys);
  row.bytes_open = static_cast<uint64_t>(keys * bits_per_key / 8);
  row.negatives = static_cast<uint64_t>(absent * (1 - rate));
  row.lookups = static_cast<uint64_t>(absent);
  row.expected_false_positives = absent * rate;
  return row;
}

RocksDBFilterStatistics Example() {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 12.5;
  RocksDBFilterRow six = Row(6, "compact");
  six.filters_built = 2;
  six.bytes_built = 2500;
  six.keys_built = 2000;
  six.filters_open = 1;
  six.bytes_open = 1250;
  six.keys_open = 1000;
  six.lookups = 1001;
  six.negatives = 999;
  six.expected_false_positives = 1;
  six.range_lookups = 70;
  six.range_negatives = 60;
  RocksDBFilterRow foreign = Row(-1, "rocksdb");
  foreign.filters_open = 3;
  foreign.lookups = 18446744073709551615u;
  statistics.rows = {six, foreign};
  return statistics;
}

TEST(StatisticsTextTest, Json) {
  EXPECT_EQ(Example().ToJson(),
            "{\"version\":\"0.1.0\",\"seconds\":12.5,\"rows\":["
            "{\"level\":6,\"layout\":\"compact\",\"filters_built\":2,"
            "\"bytes_built\":2500,\"keys_built\":2000,\"filters_open\":1,"
            "\"bytes_open\":1250,\"keys_open\":1000,\"lookups\":1001,"
            "\"negatives\":999,\"expected_false_positives\":1,"
            "\"false_positive_rate\":0.001,\"range_lookups\":70,"
            "\"range_negatives\":60},"
            "{\"level\":null,\"layout\":\"rocksdb\",\"filters_built\":0,"
            "\"bytes_built\":0,\"keys_built\":0,\"filters_open\":3,"
            "\"bytes_open\":0,\"keys_open\":0,\"lookups\":18446744073709551615,"
            "\"negatives\":0,\"expected_false_positives\":null,"
            "\"false_positive_rate\":null,\"range_lookups\":0,"
            "\"range_negatives\":0}],\"advice\":[]}");
  EXPECT_EQ(RocksDBFilterStatistics().ToJson(),
            "{\"version\":\"0.1.0\",\"seconds\":0,\"rows\":[],\"advice\":[]}");
}

TEST(StatisticsTextTest, Prometheus) {
  const std::string text = Example().ToPrometheus();
  EXPECT_EQ(text.find("# HELP deltabloom_filters_built_total "), 0u);
  for (const char* const line :
       {"# TYPE deltabloom_filters_built_total counter",
        "deltabloom_filters_built_total{level=\"6\",layout=\"compact\"} 2",
        "deltabloom_filters_built_bytes_total{level=\"6\",layout=\"compact\"} "
        "2500",
        "# TYPE deltabloom_filters_open gauge",
        "deltabloom_filters_open{level=\"unknown\",layout=\"rocksdb\"} 3",
        "deltabloom_filter_lookups_total{level=\"unknown\",layout=\"rocksdb\"} "
        "18446744073709551615",
        "deltabloom_filter_negatives_total{level=\"6\",layout=\"compact\"} 999",
        "deltabloom_filter_expected_false_positives_total{level=\"6\",layout="
        "\"compact\"} 1",
        "# TYPE deltabloom_filter_range_lookups_total counter",
        "deltabloom_filter_range_lookups_total{level=\"6\",layout="
        "\"compact\"} 70",
        "deltabloom_filter_range_negatives_total{level=\"6\",layout="
        "\"compact\"} 60"}) {
    EXPECT_NE(text.find("\n" + std::string(line) + "\n"), std::string::npos)
        << line;
  }
  // No figure where none is known.
  EXPECT_EQ(text.find("expected_false_positives_total{level=\"unknown\""),
            std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(StatisticsTextTest, Text) {
  EXPECT_EQ(
      Example().ToText(),
      "Filters, by the level their tables were written for, 12 s; false "
      "positives as expected:\n"
      "level    layout   open     MB  keys  bits/key  built               "
      "lookups  negatives  false positives       %\n"
      "6        compact     1  0.001  1000     10.00      2                  "
      "1001        999              1.0  0.1000\n"
      "unknown  rocksdb     3  0.000     0         -      0  "
      "18446744073709551615          0                -       -\n"
      "all                  4  0.001  1000     10.00      2                  "
      "1000        999              1.0  0.1000\n"
      "Ranges: 70 looked up, 60 rejected\n");
}

TEST(StatisticsTextTest, FiguresOfARow) {
  const RocksDBFilterRow row = Asked(3, "local", 1000, 10, 1e6, 0.01);
  EXPECT_NEAR(row.FalsePositiveRate(), 0.01, 1e-9);
  EXPECT_NEAR(row.BitsPerKey(), 10, 1e-9);
  EXPECT_EQ(RocksDBFilterRow().FalsePositiveRate(), 0);
  EXPECT_EQ(RocksDBFilterRow().BitsPerKey(), 0);
}

// Levels 4, 5 and 6 of a tree that grows tenfold per level, with the same
// lookups.
RocksDBFilterStatistics UniformTree(double absent_per_second,
                                    const char* layout = "compact") {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 100;
  const double rate = std::exp2(-9.8);
  for (int level = 4; level <= 6; ++level) {
    statistics.rows.push_back(Asked(level, layout,
                                    1e5 * std::pow(10, level - 4), 10,
                                    100 * absent_per_second, rate));
  }
  return statistics;
}

double NumberAfter(const std::string& line, const std::string& text) {
  const size_t at = line.find(text);
  EXPECT_NE(at, std::string::npos) << line;
  return at == std::string::npos ? 0 : std::stod(line.substr(at + text.size()));
}

TEST(StatisticsAdviceTest, BitsPerLevel) {
  const auto advice = UniformTree(1e6).Advice();
  ASSERT_EQ(advice.size(), 3u);
  EXPECT_EQ(advice[0].find("level 4, compact: 10.0 bits per key; "), 0u)
      << advice[0];
  EXPECT_EQ(advice[1].find("level 5, compact: 10.0 bits per key; "), 0u)
      << advice[1];
  // The rates of levels with ten times the keys shall be ten times as high:
  // log2(10) bits from level to level, at the same bytes. Level 6 gives less
  // than half a bit, which is not worth a line.
  const double four = NumberAfter(advice[0], "per key; ");
  const double five = NumberAfter(advice[1], "per key; ");
  const double six = five - std::log2(10);
  EXPECT_NEAR(four - five, std::log2(10), 0.11);
  EXPECT_NEAR(four * 1e5 + five * 1e6 + six * 1e7, 10 * 11.1e6, 0.06 * 11.1e6);
  EXPECT_EQ(advice[2].find("together, in the same 13.9 MB: "), 0u) << advice[2];
  // By hand, from a rate of 2^-9.8 at 10 bits.
  const double now = 3e6 * std::exp2(-9.8);
  double then = 0;
  for (const double bits : {four, five, six}) {
    then += 1e6 * std::exp2(-(bits - 0.2));
  }
  EXPECT_NEAR(NumberAfter(advice[2], "fewer, of "), now, 1);
  EXPECT_NEAR(NumberAfter(advice[2], "MB: "), now - then, 0.05 * now);
  EXPECT_NEAR(NumberAfter(advice[0], "would save "),
              now / 3 - 1e6 * std::exp2(-(four - 0.2)), 0.01 * now);
}

// There it takes one and a half bits more to halve a rate.
TEST(StatisticsAdviceTest, BitsOfBloomFiltersCountForLess) {
  for (const char* layout : {"local", "classic"}) {
    const auto advice = UniformTree(1e6, layout).Advice();
    ASSERT_GE(advice.size(), 2u);
    EXPECT_NEAR(NumberAfter(advice[0], "per key; ") -
                    NumberAfter(advice[1], "per key; "),
                1.5 * std::log2(10), 0.11);
  }
}

// No advice about what would not matter or is not known.
TEST(StatisticsAdviceTest, SilentWhereFiguresDoNotCarryIt) {
  EXPECT_TRUE(UniformTree(100).Advice().empty());  // less than a read a second
  RocksDBFilterStatistics few = UniformTree(1e6);
  for (RocksDBFilterRow& row : few.rows) row.negatives = 999;
  EXPECT_TRUE(few.Advice().empty());
  RocksDBFilterStatistics no_time = UniformTree(1e6);
  no_time.seconds = 0;
  EXPECT_TRUE(no_time.Advice().empty());
  RocksDBFilterStatistics no_keys = UniformTree(1e6);
  for (RocksDBFilterRow& row : no_keys.rows) row.keys_open = 0;
  EXPECT_TRUE(no_keys.Advice().empty());
  RocksDBFilterStatistics foreign = UniformTree(1e6);
  for (RocksDBFilterRow& row : foreign.rows) row.rate_known = false;
  EXPECT_TRUE(foreign.Advice().empty());
  RocksDBFilterStatistics one = UniformTree(1e6);
  one.rows.resize(1);
  EXPECT_TRUE(one.Advice().empty());
  EXPECT_TRUE(RocksDBFilterStatistics().Advice().empty());
}

// Levels whose rates are in proportion to their keys: nothing to gain.
TEST(StatisticsAdviceTest, SilentAtTheOptimum) {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 100;
  for (int level = 4; level <= 6; ++level) {
    const double bits = 16 - (level - 4) * std::log2(10);
    statistics.rows.push_back(Asked(level, "compact",
                                    1e5 * std::pow(10, level - 4), bits, 1e8,
                                    std::exp2(-bits)));
  }
  EXPECT_TRUE(statistics.Advice().empty());
}

// A level with few lookups of absent keys can give bits away, the other
// takes no more than are of use.
TEST(StatisticsAdviceTest, LevelWithFewLookups) {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 100;
  statistics.rows = {Asked(5, "local", 1e6, 10, 1e9, 0.01),
                     Asked(6, "local", 1e7, 10, 2000, 0.01)};
  auto advice = statistics.Advice();
  ASSERT_GE(advice.size(), 2u);
  EXPECT_EQ(
      advice[0].find("level 5, local: 10.0 bits per key; 24.0 would save"), 0u)
      << advice[0];
  EXPECT_EQ(advice[1].find("level 6, local: 10.0 bits per key; 8.6 would cost"),
            0u)
      << advice[1];
  // With fewer keys it can give them all. No filter then is a read for every
  // lookup, and no more: 20 a second.
  statistics.rows[1] = Asked(6, "local", 1e6, 10, 2000, 0.01);
  statistics.rows[0] = Asked(5, "local", 1e6, 10, 1e12, 0.01);
  advice = statistics.Advice();
  ASSERT_GE(advice.size(), 2u);
  EXPECT_EQ(advice[1],
            "level 6, local: 10.0 bits per key; 0.0 would cost 20 reads per "
            "second");
}

TEST(StatisticsAdviceTest, CompactInsteadOfABloomFilter) {
  RocksDBFilterStatistics statistics;
  statistics.seconds = 100;
  statistics.rows = {Asked(6, "classic", 1e6, 10, 1e7, 0.013)};
  const auto advice = statistics.Advice();
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0],
            "level 6, classic: 10.0 bits per key; as many in compact would "
            "save 1188 reads per second");
  // Not for flushes, nor where filters are small.
  statistics.rows[0].level = 0;
  EXPECT_TRUE(statistics.Advice().empty());
  statistics.rows[0].level = 6;
  statistics.rows[0].filters_open = 10'000;
  EXPECT_TRUE(statistics.Advice().empty());
}

TEST(StatisticsAdviceTest, IsInTheOtherForms) {
  const RocksDBFilterStatistics statistics = UniformTree(1e6);
  for (const std::string& line : statistics.Advice()) {
    EXPECT_NE(statistics.ToText().find(line + "\n"), std::string::npos);
    EXPECT_NE(statistics.ToJson().find("\"" + line + "\""), std::string::npos);
  }
}

}  // namespace
}  // namespace deltabloom::testing
