// What filter_bench can be asked for beside its defaults, run small.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/bench/program.h"
#include "tests/random.h"

namespace deltabloom::test {
namespace {

using Json = nlohmann::ordered_json;

TEST(FilterBench, ListsMayChooseAnyPart) {
  const Finished run =
      RunBench(Tiny({"--competitors", "deltabloom-classic,rocksdb-bloom",
                     "--keys", "1k", "--bits-per-key", "5,9.9", "--threads",
                     "1,2", "--no-floors", "--key-kind", "decimal", "--json"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["rows"].size(), 2 * 2 * 2u);
  EXPECT_EQ(json["floors"].size(), 0u);
  std::map<double, int> threads_of_bits;
  for (const Json& row : json["rows"]) {
    threads_of_bits[row["bits_per_key"]] += row["threads"].get<int>();
    EXPECT_GT(row["miss_ns"], 0);
  }
  EXPECT_EQ(threads_of_bits, (std::map<double, int>{{5, 6}, {9.9, 6}}));
}

TEST(FilterBench, RatesOnlyTakesNoTimes) {
  const Finished run =
      RunBench(Tiny({"--rates-only", "--competitors", "rocksdb-bloom", "--keys",
                     "1k", "--json"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json row = Json::parse(run.out)["rows"][0];
  EXPECT_TRUE(row["miss_ns"].is_null());
  EXPECT_TRUE(row["build_ns_per_key"].is_null());
  EXPECT_GT(row["false_positive_rate"], 0);
}

TEST(FilterBench, DatabasesAskTheirFiltersInBatches) {
  const Finished run = RunBench({"--database", "--keys", "8k", "--samples",
                                 "2000", "--repetitions", "1",
                                 "--benchmark_min_time=0.00001", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  std::set<std::string> seen;
  for (const Json& row : json["database"]) {
    const std::string name = row["competitor"];
    seen.insert(name + " " + row["filter"].get<std::string>());
    for (const char* figure :
         {"get_miss_ns", "get_hit_ns", "multiget_miss_ns", "multiget_hit_ns",
          "multiget_neighbours_miss_ns"}) {
      EXPECT_GT(row[figure].get<double>(), 0) << row;
    }
    if (name == "none") {
      EXPECT_EQ(row["stored_bits_per_key"], 0.0);
      continue;
    }
    EXPECT_GT(row["stored_bits_per_key"], 6) << row;
    EXPECT_EQ(row["batched_share"], 1.0) << row;
    EXPECT_GE(row["keys_per_batch"], row["filter"] == "full" ? 31 : 1) << row;
    EXPECT_GE(row["neighbours_per_batch"], 31) << row;
  }
  for (const char* name :
       {"rocksdb-bloom", "rocksdb-ribbon", "deltabloom-classic", "none"}) {
    EXPECT_EQ(seen.count(std::string(name) + " full"), 1u) << name;
    EXPECT_EQ(seen.count(std::string(name) + " partitioned"), 1u) << name;
  }
}

// Bits and bytes are those of the formats; the rates are those of a Bloom
// filter of 10 bits per key, but 100 % where the index alone answers.
TEST(FilterBench, ArrangementsOfATable) {
  const Finished run =
      RunBench(Tiny({"--arrangements", "--keys", "10k", "--samples", "100k",
                     "--seed", std::to_string(SeedOfThisRun()), "--json"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  SCOPED_TRACE(json["context"]["command"].get<std::string>());
  std::map<std::string, double> bits;
  std::map<std::string, double> bytes;
  for (const Json& row : json["arrangements"]) {
    const std::string name = row["arrangement"];
    bits[name] = row["stored_bits_per_key"];
    bytes[name] = row["lookup_bytes"];
    const double rate = row["false_positive_rate"];
    if (name == "index alone") {
      // Only a key behind the last one is known to be absent.
      EXPECT_GT(rate, 0.99);
    } else {
      EXPECT_GT(row["build_ns_per_key"], 0) << name;
      EXPECT_GT(rate, 0.006) << name;
      EXPECT_LT(rate, 0.012) << name;
    }
    EXPECT_DOUBLE_EQ(row["false_positive_error"],
                     std::sqrt(rate * (1 - rate) / (98 * 1024)));
    EXPECT_GT(row["miss_ns"], 0) << name;
    EXPECT_GT(row["hit_ns"], 0) << name;
  }
  ASSERT_EQ(bits.size(), 6u);
  EXPECT_EQ(bits["index alone"], 0);
  EXPECT_DOUBLE_EQ(bits["full, classic"], (10'000 * 10 + 8) / 10'000.0);
  EXPECT_DOUBLE_EQ(bytes["full, classic"], 12'501);
  // 244 data blocks of 41 keys, the last of 37; windows of 2 KiB of which every
  // second or third is empty: offsets for all, and for the array's place.
  EXPECT_NEAR(bits["per block, windows of 2 KiB"], 11.90, 0.005);
  EXPECT_NEAR(bytes["per block, windows of 2 KiB"], 61, 1);
  // 3277 keys fill 4 KiB: four partitions.
  EXPECT_NEAR(bits["partitioned, 4 KiB each"], 10 + 4 * (16 + 8 + 1) * 8e-4,
              0.005);
}

// Every set has rows over all lengths; the shorter of uniform keys are nearly
// all answered no.
TEST(FilterBench, RangesOfEverySet) {
  const Finished run = RunBench(
      {"--ranges", "--keys", "2k", "--samples", "1000", "--bits-per-key", "18",
       "--rates-only", "--seed", std::to_string(SeedOfThisRun()), "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  SCOPED_TRACE(json["context"]["command"].get<std::string>());
  std::set<std::string> sets;
  for (const Json& row : json["ranges"]) {
    sets.insert(row["set"]);
    const double rate = row["false_positive_rate"];
    EXPECT_TRUE(row["question_ns"].is_null());
    if (row["filter"] == "deltabloom" && row["set"] == "uniform" &&
        row["length"] <= 1024) {
      EXPECT_LT(rate, 0.08) << row;
    }
    EXPECT_EQ(row["bound"].is_null(),
              row["set"] == "urls" || row["set"] == "words" ||
                  row["filter"].get<std::string>().rfind("prefix", 0) == 0)
        << row;
  }
  for (const char* set : {"uniform", "correlated", "clustered", "urls"}) {
    EXPECT_EQ(sets.count(set), 1u) << set;
  }
}

// LevelDB's own policy and ours write the same bits; another hash does not.
TEST(FilterBench, AdaptersForLevelDB) {
  const Finished run = RunBench(
      Tiny({"--competitors",
            "leveldb-bloom,deltabloom-leveldb,deltabloom-leveldb-murmurhash2",
            "--keys", "1k", "--samples", "10k", "--many-filter-keys", "20k",
            "--no-floors", "--benchmark_filter=random_filter", "--json"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json rows = Json::parse(run.out)["rows"];
  ASSERT_EQ(rows.size(), 3u);
  for (const Json& row : rows) {
    EXPECT_DOUBLE_EQ(row["stored_bits_per_key"], (1000 * 10 + 8) / 1000.0);
    EXPECT_EQ(row["false_negatives"], 0);
    EXPECT_GT(row["random_filter_miss_ns"], 0);
  }
}

// Every part, made tiny; then every section of the document has a table.
TEST(FilterBench, ReportFillsTheDocument) {
  const std::string directory = ScratchFile("report");
  const Finished run =
      RunBench({"--report", directory, "--quick", "--competitors",
                "rocksdb-bloom,deltabloom-classic", "--keys", "1k,3k",
                "--samples", "1000", "--many-filter-keys", "20k",
                "--repetitions", "1", "--benchmark_min_time=0.00001"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const std::string text = ReadFile(directory + "/performance.md");
  std::istringstream lines(text);
  int sections = 0;
  std::string section;
  bool has_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, 11, "<!-- begin ") == 0) {
      section = line;
      has_table = false;
    } else if (line.compare(0, 9, "<!-- end ") == 0) {
      EXPECT_TRUE(has_table) << section;
      ++sections;
    } else {
      has_table |= line.compare(0, 2, "| ") == 0;
    }
  }
  EXPECT_GE(sections, 10);
  EXPECT_NE(text.find("### deltabloom-classic"), std::string::npos);
  for (const char* name : {"lookup_ns.png", "false_positives.png"}) {
    EXPECT_EQ(ReadFile(directory + "/performance/" + name).substr(1, 3), "PNG");
  }
  std::filesystem::remove_all(directory);
}

TEST(FilterBench, GoogleBenchmarksOptionsWork) {
  const std::vector<std::string> common = {
      "--competitors", "rocksdb-bloom,naive-classic", "--keys", "1k"};
  std::vector<std::string> list = Tiny(common);
  list.push_back("--benchmark_list_tests");
  const Finished listed = RunBench(list);
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_NE(listed.out.find("batch_miss_ns/naive-classic/keys:1000"),
            std::string::npos)
      << listed.out;

  std::vector<std::string> filtered = Tiny(common);
  const std::string file = ScratchFile("gbench");
  for (const std::string& word :
       {std::string("--benchmark_filter=^miss_ns/naive"),
        std::string("--benchmark_format=json"), "--benchmark_out=" + file,
        std::string("--benchmark_out_format=csv")}) {
    filtered.push_back(word);
  }
  const Finished run = RunBench(filtered);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json json = Json::parse(run.out);
  ASSERT_EQ(json["benchmarks"].size(), 1u);
  EXPECT_EQ(json["benchmarks"][0]["name"].get<std::string>().substr(0, 21),
            "miss_ns/naive-classic");
  EXPECT_GT(json["benchmarks"][0]["ns_per_key"], 0);
  EXPECT_NE(ReadFile(file).find("miss_ns/naive-classic"), std::string::npos);
  unlink(file.c_str());
}

}  // namespace
}  // namespace deltabloom::test
