// Databases of RocksDB that deltabloom verify looks at.
#ifndef DELTABLOOM_TESTS_TOOLS_VERIFY_ROCKSDB_H_
#define DELTABLOOM_TESTS_TOOLS_VERIFY_ROCKSDB_H_

#include <gtest/gtest.h>
#include <rocksdb/slice_transform.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/rocksdb/test_db.h"
#include "tests/tools/damage.h"
#include "tests/tools/run_tool.h"

namespace deltabloom::test {

using nlohmann::json;
using testing::DbConfig;
using testing::Key;

inline constexpr int kKeys = 3000;

enum class Filtering { kWholeKeys, kPrefixes, kBoth };

class VerifyRocksDB : public ::testing::Test {
 protected:
  Result Run(const std::string& arguments, const std::string& variables = "") {
    return RunProgram(
        variables + " " + DELTABLOOM_TOOL + " verify " + arguments,
        folder_.Path("stderr"));
  }
  json RunJson(const std::string& arguments, int status,
               const std::string& variables = "") {
    const Result result = Run("--json " + arguments, variables);
    EXPECT_EQ(result.status, status) << result.out << result.err;
    err_ = result.err;
    return json::parse(result.out);
  }

  // Keys in prefixes of ten: "user0000001" and a digit.
  DbConfig Config(const std::string& policy, bool partitioned,
                  Filtering filtering) {
    DbConfig config;
    config.policy = testing::PolicyFromString(policy);
    config.partitioned = partitioned;
    config.change = [filtering](auto* options, auto* table) {
      table->block_size = 512;
      table->whole_key_filtering = filtering != Filtering::kPrefixes;
      if (filtering != Filtering::kWholeKeys) {
        options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(11));
      }
    };
    return config;
  }

  std::string NewPath() {
    return folder_.Path("db" + std::to_string(databases_++));
  }

  // One table of kKeys keys. Returns its path.
  std::string Load(const rocksdb::Options& options, const std::string& path) {
    const auto db = testing::Open(options, path);
    testing::Load(db.get(), 0, kKeys);
    return OnlyTable(db.get(), path);
  }

  static std::string OnlyTable(rocksdb::DB* db, const std::string& path) {
    std::vector<rocksdb::LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    EXPECT_EQ(files.size(), 1u);
    return path + files.at(0).name;
  }

  // Keys that the database does not find any more.
  static std::set<std::string> LostKeys(const rocksdb::Options& options,
                                        const std::string& path) {
    const auto db = testing::Open(options, path);
    std::set<std::string> lost;
    std::string value;
    for (int i = 0; i < kKeys; ++i) {
      const rocksdb::Status status = db->Get({}, Key(2 * i), &value);
      EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
      if (status.IsNotFound()) lost.insert(Key(2 * i));
    }
    return lost;
  }

  const testing::TempDir folder_;
  int databases_ = 0;
  std::string err_;
};

inline std::set<std::string> Missed(const json& file, const char* kind) {
  std::set<std::string> keys;
  for (const json& missed : file.at("missed")) {
    if (missed.contains(kind)) keys.insert(missed.at(kind));
  }
  return keys;
}

// Within five standard errors of the binomial distribution.
inline void ExpectRate(const json& file) {
  const double n = file.at("absent_asked");
  const double expected = file.at("expected_rate");
  EXPECT_GT(n, 0);
  EXPECT_NEAR(file.at("rate").get<double>(), expected,
              5 * std::sqrt(expected * (1 - expected) / n) + 1 / n);
}

}  // namespace deltabloom::test

#endif  // DELTABLOOM_TESTS_TOOLS_VERIFY_ROCKSDB_H_
