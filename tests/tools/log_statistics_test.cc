// The statistics in a LOG of RocksDB, and what they say of reads.
#include "tools/deltabloom/database/log_statistics.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace deltabloom::tools {
namespace {

constexpr char kTimeOfCounts[] = "2026/11/24-11:44:20";

std::string Dump(const std::string& tickers, const std::string& end =
                                                 "rocksdb.db.get.micros P50 : "
                                                 "0.5 P95 : 0.6 COUNT : 3 SUM "
                                                 ": 4\n") {
  return std::string("2026/11/24-11:44:19.1 1 Options.statistics: 0x1\n") +
         kTimeOfCounts +
         ".319901 24939 [db/db_impl/db_impl.cc:788] STATISTICS:\n " + tickers +
         end;
}

Tickers Find(const std::string& log) {
  std::string time;
  return FindStatistics(log, &time);
}

TEST(FindStatistics, TakesTheNewest) {
  std::string time;
  const Tickers expected = {{"rocksdb.a", 7},
                            {"rocksdb.b.c", 18446744073709551615u}};
  EXPECT_EQ(FindStatistics(Dump("rocksdb.a COUNT : 3\n") +
                               Dump("rocksdb.a COUNT : 7\nrocksdb.b.c COUNT : "
                                    "18446744073709551615\n") +
                               "2026/11/24-11:44:21.1 1 [more]\n",
                           &time),
            expected);
  EXPECT_EQ(time, kTimeOfCounts);
}

TEST(FindStatistics, ADumpThatIsBeingWrittenDoesNotCount) {
  const std::string old = Dump("rocksdb.a COUNT : 3\n");
  const Tickers expected = {{"rocksdb.a", 3}};
  const std::string newer = Dump("rocksdb.a COUNT : 7\nrocksdb.b COUNT : 88\n");
  const size_t end = newer.size() - 1;
  for (size_t size = 0; size < end; ++size) {
    EXPECT_EQ(Find(old + newer.substr(0, size)), expected) << size;
  }
  EXPECT_EQ(Find(old + newer).at("rocksdb.b"), 88u);
}

TEST(FindStatistics, OtherTextHasNone) {
  EXPECT_TRUE(Find("").empty());
  EXPECT_TRUE(Find("\n] STATISTICS:\n").empty());
  EXPECT_TRUE(Find("] STATISTICS:\nrocksdb.a COUNT : 3\n").empty());
  EXPECT_TRUE(Find(Dump("")).empty());
  EXPECT_TRUE(Find(Dump("rocksdb.a COUNT : 3\n", "something else\n")).empty());
  EXPECT_TRUE(Find(Dump("rocksdb.a COUNT : -3\n")).empty());
  EXPECT_TRUE(Find(Dump("rocksdb.a COUNT : 18446744073709551616\n")).empty());
  EXPECT_TRUE(Find(Dump("rocksdb.a COUNT : 3 4\n")).empty());
}

TEST(StatisticsOf, CountsLookupsAndSeeks) {
  const LogStatistics statistics = StatisticsOf(
      {{"rocksdb.number.keys.read", 600},
       {"rocksdb.number.multiget.keys.read", 400},
       {"rocksdb.memtable.hit", 100},
       {"rocksdb.l0.hit", 200},
       {"rocksdb.l1.hit", 0},
       {"rocksdb.l2andup.hit", 400},
       {"rocksdb.bloom.filter.useful", 970},
       {"rocksdb.bloom.filter.full.positive", 630},
       {"rocksdb.bloom.filter.full.true.positive", 600},
       {"rocksdb.number.db.seek", 50},
       {"rocksdb.number.db.seek.found", 20},
       {"rocksdb.last.level.seek.data", 100},
       {"rocksdb.last.level.seek.data.useful.no.filter", 10},
       {"rocksdb.last.level.seek.data.useful.filter.match", 5},
       {"rocksdb.non.last.level.seek.data", 100},
       {"rocksdb.non.last.level.seek.data.useful.no.filter", 1},
       {"rocksdb.non.last.level.seek.data.useful.filter.match", 4}});
  EXPECT_EQ(statistics.gets->all, 1000u);
  EXPECT_EQ(statistics.gets->part, 300u);
  EXPECT_DOUBLE_EQ(statistics.gets->Share(), 0.3);
  EXPECT_EQ(statistics.filtered->all, 1000u);
  EXPECT_EQ(statistics.filtered->part, 30u);
  EXPECT_EQ(statistics.seeks->part, 30u);
  EXPECT_EQ(statistics.run_seeks->all, 200u);
  EXPECT_EQ(statistics.run_seeks->part, 180u);
}

TEST(StatisticsOf, WhatIsNotCountedIsLeftOut) {
  const LogStatistics statistics =
      StatisticsOf({{"rocksdb.number.keys.read", 0},
                    {"rocksdb.number.multiget.keys.read", 0},
                    {"rocksdb.memtable.hit", 0},
                    {"rocksdb.l0.hit", 0},
                    {"rocksdb.l1.hit", 0},
                    {"rocksdb.l2andup.hit", 0},
                    {"rocksdb.number.db.seek", 7},
                    {"rocksdb.number.db.seek.found", 9}});
  EXPECT_FALSE(statistics.gets.has_value());
  EXPECT_FALSE(statistics.filtered.has_value());
  EXPECT_FALSE(statistics.run_seeks.has_value());
  EXPECT_EQ(statistics.seeks->part, 0u);  // counted one after the other
}

}  // namespace
}  // namespace deltabloom::tools
