// filter_bench run small: its results are complete and true. No test looks at
// how long anything took.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/bench/program.h"

namespace deltabloom::test {
namespace {

using Json = nlohmann::ordered_json;

// In the order of the documentation.
const std::vector<std::string> kRowKeys = {"competitor",
                                           "keys",
                                           "key_bytes",
                                           "bits_per_key",
                                           "stored_bits_per_key",
                                           "false_positive_rate",
                                           "miss_ns",
                                           "hit_ns",
                                           "batch_miss_ns",
                                           "batch_hit_ns",
                                           "build_ns_per_key",
                                           "build_bytes_per_key"};

std::set<std::string> Competitors(const Json& rows) {
  std::set<std::string> names;
  for (const Json& row : rows) names.insert(row["competitor"]);
  return names;
}

// One run that several tests look at.
class TinyRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string json_file = ScratchFile("json");
    const std::string csv_file = ScratchFile("csv");
    run_ = RunBench(Tiny({"--keys", "2k,100k", "--key-bytes", "24", "--json",
                          json_file, "--csv", csv_file}));
    json_ = Json::parse(ReadFile(json_file), nullptr, false);
    csv_ = ReadFile(csv_file);
    unlink(json_file.c_str());
    unlink(csv_file.c_str());
  }

  static Json RowOf(const std::string& competitor, uint64_t keys) {
    for (const Json& row : json_["rows"]) {
      if (row["competitor"] == competitor && row["keys"] == keys) return row;
    }
    ADD_FAILURE() << "no row of " << competitor << " with " << keys;
    return Json::object();
  }

  static Finished run_;
  static Json json_;
  static std::string csv_;
};

Finished TinyRun::run_;
Json TinyRun::json_;
std::string TinyRun::csv_;

TEST_F(TinyRun, EndsWell) {
  EXPECT_EQ(run_.exit_code, 0) << run_.err;
  EXPECT_EQ(run_.err, "");
  EXPECT_NE(run_.out.find("ratio to rocksdb-bloom"), std::string::npos);
  EXPECT_NE(
      run_.out.find("100,000 keys of 24 bytes, 10 bits per key, 1 thread"),
      std::string::npos);
  EXPECT_EQ(run_.out.find('\033'), std::string::npos)
      << "terminal control in a pipe";
}

TEST_F(TinyRun, JsonHasEveryRowAndKey) {
  ASSERT_FALSE(json_.is_discarded());
  const std::set<std::string> names = Competitors(json_["rows"]);
  for (const char* name : {"rocksdb-bloom", "rocksdb-ribbon", "leveldb-bloom",
                           "naive-classic", "deltabloom-classic"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  EXPECT_EQ(json_["rows"].size(), 2 * names.size());
  for (const Json& row : json_["rows"]) {
    std::vector<std::string> first_keys;
    for (const auto& [key, value] : row.items()) {
      if (first_keys.size() < kRowKeys.size()) first_keys.push_back(key);
      EXPECT_FALSE(value.is_number() && value < 0) << key << " of " << row;
    }
    EXPECT_EQ(first_keys, kRowKeys);
    EXPECT_EQ(row["key_bytes"], 24);
    EXPECT_EQ(row["bits_per_key"], 10.0);
    EXPECT_EQ(row["false_negatives"], 0);
    for (const auto& [key, value] : row.items()) {
      const bool time = key.find("_ns") != std::string::npos;
      const bool many = key.find("_filter_") != std::string::npos;
      // 100k keys are no five filters of 100k.
      if (many && row["keys"] == 100'000) {
        EXPECT_TRUE(value.is_null()) << key;
      } else if (time) {
        EXPECT_GT(value.get<double>(), 0) << key;
      }
    }
  }
  EXPECT_EQ(
      Competitors(json_["floors"]),
      (std::set<std::string>{"floor-call", "floor-hash", "floor-cache-line"}));
  for (const char* key : {"date", "cpu", "cpu_level", "rocksdb", "leveldb",
                          "deltabloom", "compiler", "command"}) {
    EXPECT_TRUE(json_["context"][key].is_string()) << key;
  }
}

TEST_F(TinyRun, CsvSaysWhatJsonSays) {
  std::istringstream lines(csv_);
  std::string line;
  std::getline(lines, line);
  std::string wanted;
  for (const auto& [key, value] : json_["rows"][0].items()) {
    wanted += (wanted.empty() ? "" : ",") + key;
  }
  EXPECT_EQ(line, wanted);
  for (const Json& row : json_["rows"]) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line.substr(0, line.find(',')), row["competitor"]);
    EXPECT_EQ(std::count(line.begin(), line.end(), ','),
              static_cast<std::ptrdiff_t>(row.size()) - 1);
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST_F(TinyRun, StoredBitsAreThoseOfTheFormats) {
  // LevelDB: 10 bits per key, and the byte k.
  EXPECT_DOUBLE_EQ(RowOf("leveldb-bloom", 2000)["stored_bits_per_key"],
                   (2000 * 10 + 8) / 2000.0);
  EXPECT_DOUBLE_EQ(RowOf("naive-classic", 100'000)["stored_bits_per_key"],
                   (100'000 * 10 + 8) / 100'000.0);
  // RocksDB: blocks of 64 bytes and five bytes.
  EXPECT_DOUBLE_EQ(RowOf("rocksdb-bloom", 100'000)["stored_bits_per_key"],
                   (1954 * 64 + 5) * 8 / 100'000.0);
  const double ribbon = RowOf("rocksdb-ribbon", 100'000)["stored_bits_per_key"];
  EXPECT_GT(ribbon, 6.9);
  EXPECT_LT(ribbon, 7.3);
}

// Five standard deviations: one run in a million fails by chance.
TEST_F(TinyRun, FalsePositivesFitTheory) {
  for (const std::string& name : Competitors(json_["rows"])) {
    if (name.compare(0, 8, "rocksdb-") != 0) continue;
    for (uint64_t keys : {2000u, 100'000u}) {
      const Json row = RowOf(name, keys);
      EXPECT_NEAR(row["false_positive_rate"].get<double>(),
                  row["theoretical_false_positive_rate"].get<double>(),
                  5 * row["false_positive_error"].get<double>())
          << row;
    }
  }
}

// The two hashes differ, so do the rates; but LevelDB's rate at few keys, where
// the probes' dependence does not show, is that of a Bloom filter.
TEST_F(TinyRun, FalsePositivesOfClassicFiltersAgree) {
  const Json naive = RowOf("naive-classic", 100'000);
  const Json ours = RowOf("deltabloom-classic", 100'000);
  const double error = std::hypot(naive["false_positive_error"].get<double>(),
                                  ours["false_positive_error"].get<double>());
  // Ours may choose a size that probes better, never worse.
  EXPECT_LT(ours["false_positive_rate"].get<double>(),
            naive["false_positive_rate"].get<double>() + 5 * error);
  const Json leveldb = RowOf("leveldb-bloom", 2000);
  EXPECT_NEAR(
      leveldb["false_positive_rate"].get<double>(),
      leveldb["theoretical_false_positive_rate"].get<double>(),
      5 * leveldb["false_positive_error"].get<double>() +
          0.1 * leveldb["theoretical_false_positive_rate"].get<double>());
}

TEST_F(TinyRun, TheErrorIsBinomial) {
  for (const Json& row : json_["rows"]) {
    const double rate = row["false_positive_rate"];
    const double samples = row["false_positive_samples"];
    EXPECT_DOUBLE_EQ(row["false_positive_error"],
                     std::sqrt(rate * (1 - rate) / samples));
    EXPECT_GE(samples, 250'000);
  }
}

TEST_F(TinyRun, BuildBytesCountWhatBuildersKeep) {
  // A naive vector of 32-bit hashes that doubles: 100,000 of them fill
  // 131,072 places while half as many are still there.
  EXPECT_NEAR(RowOf("naive-classic", 100'000)["build_bytes_per_key"],
              (131'072 + 65'536) * 4 / 100'000.0, 2.7);
  // RocksDB keeps 64-bit hashes.
  const double bloom = RowOf("rocksdb-bloom", 100'000)["build_bytes_per_key"];
  EXPECT_GE(bloom, 8);
  EXPECT_LT(bloom, 10);
  // LevelDB's policy needs the keys themselves.
  EXPECT_GT(RowOf("leveldb-bloom", 100'000)["build_bytes_per_key"], 24 + 8);
}

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
  const Finished run = RunBench({"--database", "--keys", "20k", "--repetitions",
                                 "1", "--benchmark_min_time=0.0001", "--json"});
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

TEST(FilterBench, DrawsPlots) {
  const std::string directory = ScratchFile("plots");
  const Finished run =
      RunBench(Tiny({"--competitors", "rocksdb-bloom,naive-classic", "--keys",
                     "1k,2k", "--bits-per-key", "8,10", "--plot", directory}));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* name : {"lookup_ns.png", "false_positives.png"}) {
    EXPECT_EQ(ReadFile(directory + "/" + name).substr(1, 3), "PNG") << name;
  }
  std::filesystem::remove_all(directory);
}

// Every part, made tiny; then every section of the document has a table.
TEST(FilterBench, ReportFillsTheDocument) {
  const std::string directory = ScratchFile("report");
  const Finished run = RunBench(
      {"--report", directory, "--quick", "--competitors",
       "rocksdb-bloom,deltabloom-classic", "--keys", "1k,3k", "--samples",
       "10k", "--repetitions", "1", "--benchmark_min_time=0.0001"});
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
