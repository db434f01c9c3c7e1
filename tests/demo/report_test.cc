#include "db_bench_ext/demo/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace deltabloom::demo {
namespace {

std::vector<Result> MakeResults() {
  Result none, ours;
  none.filter = "none";
  ours.filter = "deltabloom-auto";
  none.keys = ours.keys = 1000;
  none.measurement.absent = {100, 0, 5000, 400, 0, 0};
  none.measurement.present = {200, 200, 9000, 500, 0, 0};
  ours.tables = {1250, 1000};
  ours.load_seconds = 2.5;
  ours.measurement.absent = {100, 0, 300, 4, 396, 4};
  ours.measurement.present = {200, 200, 7000, 210, 600, 3};
  return {none, ours};
}

TEST(Report, JsonHoldsTheFigures) {
  const auto document = nlohmann::json::parse(FormatJson(MakeResults()));
  const auto& none = document["runs"][0];
  const auto& ours = document["runs"][1];
  EXPECT_EQ(document["runs"].size(), 2u);
  EXPECT_EQ(none["filter"], "none");
  EXPECT_TRUE(none["false_positive_rate"].is_null());
  EXPECT_EQ(none["bits_per_key"], 0.0);
  EXPECT_EQ(none["absent_data_block_reads_per_lookup"], 4.0);
  EXPECT_EQ(none["present_data_block_reads_per_lookup"], 2.5);
  EXPECT_EQ(ours["filter"], "deltabloom-auto");
  EXPECT_EQ(ours["keys"], 1000);
  EXPECT_EQ(ours["bits_per_key"], 10.0);
  EXPECT_EQ(ours["filter_bytes"], 1250);
  EXPECT_EQ(ours["false_positive_rate"], 0.01);
  EXPECT_EQ(ours["absent_data_block_reads_per_lookup"], 0.04);
  EXPECT_EQ(ours["present_data_block_reads_per_lookup"], 1.05);
  EXPECT_EQ(ours["absent_micros_per_lookup"], 3.0);
  EXPECT_EQ(ours["present_micros_per_lookup"], 35.0);
  EXPECT_EQ(ours["load_seconds"], 2.5);
  EXPECT_EQ(ours["missed_present_keys"], 0);
}

TEST(Report, AMissedKeyIsExitCode1AndSaid) {
  std::vector<Result> results = MakeResults();
  EXPECT_EQ(ExitCode(results), 0);
  EXPECT_EQ(FormatSummary(results).find("WRONG"), std::string::npos);
  results[0].measurement.missed_present_keys = 1;
  EXPECT_EQ(ExitCode(results), 1);
  EXPECT_NE(FormatSummary(results).find("WRONG: none missed 1"),
            std::string::npos);
}

TEST(Report, SummarySaysWhetherEveryKeyWasLookedUp) {
  std::vector<Result> results = MakeResults();
  results[0].measurement.checked_keys = results[1].measurement.checked_keys =
      1000;
  EXPECT_NE(FormatSummary(results).find("one of every key"), std::string::npos);
  results[0].measurement.checked_keys = 999;
  EXPECT_NE(FormatSummary(results).find("one of 999 keys or more"),
            std::string::npos);
}

Result MakeFilter(const char* name, uint64_t bytes, uint64_t reads) {
  Result result;
  result.filter = name;
  result.keys = 1000;
  result.tables = {bytes, 1000};
  result.measurement.absent = {100, 0, 350, reads, 396, 4};
  result.measurement.present = {20, 20, 7000, 21, 60, 3};
  return result;
}

std::string SummaryOf(const std::vector<Result>& filters) {
  std::vector<Result> results = {MakeResults()[0]};
  results.insert(results.end(), filters.begin(), filters.end());
  return FormatSummary(results);
}

TEST(Report, SummaryNamesTheBestAtTheBytesOfRocksDBsBloom) {
  const Result bloom = MakeFilter("rocksdb-bloom", 1250, 40);
  const std::string text =
      SummaryOf({bloom, MakeFilter("rocksdb-ribbon", 900, 39),
                 MakeFilter("deltabloom-auto", 1262, 4),
                 MakeFilter("deltabloom-larger", 1263, 1)});
  EXPECT_NE(text.find("With the bytes of rocksdb-bloom, deltabloom-auto reads "
                      "the fewest: 0.0400 data blocks for an absent key\n"
                      "instead of 0.4000, 10 times fewer, in 3.5 microseconds "
                      "instead of 3.5.\n"
                      "Without a filter: 4.0000 data blocks, 50.0 "
                      "microseconds.\n"),
            std::string::npos)
      << text;
}

TEST(Report, SummaryIsHonestAboutAnotherWinner) {
  const Result bloom = MakeFilter("rocksdb-bloom", 1250, 4);
  EXPECT_NE(SummaryOf({bloom, MakeFilter("deltabloom-auto", 1250, 4),
                       MakeFilter("deltabloom-local", 1250, 5)})
                .find("With the bytes of rocksdb-bloom no filter reads fewer "
                      "data blocks for an absent key than its 0.0400.\n"),
            std::string::npos);
  EXPECT_NE(SummaryOf({bloom, MakeFilter("rocksdb-ribbon", 900, 3),
                       MakeFilter("deltabloom-local", 1250, 4)})
                .find("rocksdb-ribbon reads the fewest: 0.0300 data blocks for "
                      "an absent key\ninstead of 0.0400, 1.3 times fewer"),
            std::string::npos);
}

TEST(Report, SummaryOfNoReadsHasNoRatio) {
  const std::string text = SummaryOf({MakeFilter("rocksdb-bloom", 1250, 4),
                                      MakeFilter("deltabloom-auto", 1250, 0)});
  EXPECT_NE(text.find("0.0000 data blocks for an absent key\ninstead of "
                      "0.0400, in 3.5"),
            std::string::npos)
      << text;
}

TEST(Report, TableLinesUp) {
  const std::string table = FormatTable(MakeResults());
  EXPECT_NE(table.find("deltabloom"), std::string::npos);
  EXPECT_NE(table.find("1.000 %"), std::string::npos);
  EXPECT_NE(table.find("1,250"), std::string::npos);
}

}  // namespace
}  // namespace deltabloom::demo
