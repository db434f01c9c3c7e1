// One small run of filter_bench: its results are complete and true. No test
// looks at how long anything took.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/bench/program.h"
#include "tests/random.h"

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
    folder_ = ScratchFile("folder");
    std::filesystem::create_directory(folder_);
    const std::string json_file = folder_ + "/json";
    const std::string csv_file = folder_ + "/csv";
    run_ = RunBench(Tiny({"--keys", "2k,100k", "--key-bytes", "24", "--seed",
                          std::to_string(SeedOfThisRun()), "--json", json_file,
                          "--csv", csv_file, "--plot", folder_ + "/plots"}));
    json_ = Json::parse(ReadFile(json_file), nullptr, false);
    csv_ = ReadFile(csv_file);
  }

  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  // A failure tells the command, with its seed.
  TinyRun() : trace_(__FILE__, __LINE__, CommandOf(json_)) {}

  static std::string CommandOf(const Json& json) {
    if (json.is_discarded()) return "no JSON";
    return json["context"]["command"];
  }

  static Json RowOf(const std::string& competitor, uint64_t keys) {
    for (const Json& row : json_["rows"]) {
      if (row["competitor"] == competitor && row["keys"] == keys) return row;
    }
    ADD_FAILURE() << "no row of " << competitor << " with " << keys;
    return Json::object();
  }

  const ::testing::ScopedTrace trace_;
  static std::string folder_;
  static Finished run_;
  static Json json_;
  static std::string csv_;
};

std::string TinyRun::folder_;
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

TEST_F(TinyRun, DrawsPlotsAndLeavesNothingElse) {
  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_)) {
    names.insert(entry.path().filename());
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"json", "csv", "plots", "lookup_ns.png",
                                   "false_positives.png"}));
  for (const char* name : {"lookup_ns.png", "false_positives.png"}) {
    EXPECT_EQ(ReadFile(folder_ + "/plots/" + name).substr(1, 3), "PNG") << name;
  }
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

}  // namespace
}  // namespace deltabloom::test
