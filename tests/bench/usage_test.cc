// The command line of filter_bench: help, interrupts, and bad usage, which is
// answered in one line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/bench/program.h"

namespace deltabloom::test {
namespace {

TEST(Usage, InterruptLeavesNothingBehind) {
  const std::string folder = ScratchFile("interrupted");
  std::filesystem::create_directory(folder);
  const Finished run = RunBenchUntilOutputThenInterrupt(Tiny(
      {"--competitors", "naive-classic", "--keys", "1k,100M", "--no-floors",
       "--json", folder + "/results.json", "--plot", folder + "/plots"}));
  EXPECT_EQ(run.exit_code, 130);
  EXPECT_NE(run.err.find("filter_bench: interrupted, nothing was kept\n"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST(Usage, HelpNamesEveryOption) {
  const Finished run = RunBench({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* option : {"--competitors",
                             "--baseline",
                             "--keys",
                             "--bits-per-key",
                             "--key-bytes",
                             "--key-kind",
                             "--threads",
                             "--batch",
                             "--many-filter-keys",
                             "--samples",
                             "--repetitions",
                             "--seed",
                             "--no-floors",
                             "--rates-only",
                             "--database",
                             "--arrangements",
                             "--ranges",
                             "--quick",
                             "--json",
                             "--csv",
                             "--plot",
                             "--report",
                             "--benchmark_filter",
                             "deltabloom-classic",
                             "deltabloom-leveldb",
                             "DELTABLOOM_CPU"}) {
    EXPECT_NE(run.out.find(option), std::string::npos) << option;
  }
}

struct BadUsage {
  std::vector<std::string> arguments;
  std::string named;  // must be in the message
};

TEST(Usage, BadUsageGetsOneLine) {
  const std::vector<BadUsage> cases = {
      {{"--competitors", "rocksdb-blom"}, "'rocksdb-blom'"},
      {{"--competitors", "floor-call"}, "'floor-call'"},
      {{"--competitors", ","}, "empty"},
      {{"--competitors", "naive-classic", "--baseline", "rocksdb-bloom"},
       "--baseline"},
      {{"--keys", "0"}, "'0'"},
      {{"--keys", "1x"}, "'1x'"},
      {{"--keys", "-5"}, "-5"},
      {{"--keys", "3000M"}, "'3000M'"},
      {{"--keys", "99999999999999999999"}, "'99999999999999999999'"},
      {{"--keys", ""}, "--keys"},
      {{"--bits-per-key", "nan"}, "'nan'"},
      {{"--bits-per-key", "0.5"}, "'0.5'"},
      {{"--bits-per-key", "1e9"}, "'1e9'"},
      {{"--key-bytes", "4"}, "'4'"},
      {{"--key-bytes", "8", "--key-kind", "decimal"}, "16"},
      {{"--key-kind", "pretty"}, "--key-kind"},
      {{"--threads", "0"}, "'0'"},
      {{"--batch", "33"}, "'33'"},
      {{"--repetitions", "0"}, "'0'"},
      {{"--json", "--csv"}, "standard output"},
      {{"--database", "--arrangements"}, "--arrangements"},
      {{"--ranges", "--arrangements"}, "--ranges"},
      {{"--report", "--csv"}, "--report"},
      {{"--json", "--benchmark_format=json"}, "standard output"},
      {{"--benchmark_format=xml"}, "'xml'"},
      {{"--no-such-option"}, "--no-such-option"},
      {{"surplus"}, "surplus"},
  };
  for (const BadUsage& bad : cases) {
    const Finished run = RunBench(bad.arguments);
    EXPECT_EQ(run.exit_code, 2) << bad.named << run.err;
    EXPECT_EQ(run.out, "") << bad.named;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(run.err.substr(0, 14), "filter_bench: ") << run.err;
    EXPECT_NE(run.err.find(bad.named), std::string::npos) << run.err;
  }
  EXPECT_NE(RunBench({"--competitors", "x"}).err.find("use rocksdb-bloom, "),
            std::string::npos);
}

// Before anything is measured, which would take hours here.
TEST(Usage, PlacesThatCannotBeWrittenToAreRefused) {
  for (const auto& [option, place] :
       {std::pair{"--json", "/nonexistent/x.json"},
        {"--csv", "/nonexistent/x.csv"},
        {"--benchmark_out=", "/nonexistent/x"},
        {"--json", "/"},
        {"--plot", "/dev/null"},
        {"--plot", "/dev/null/plots"}}) {
    std::vector<std::string> words = {"--competitors", "naive-classic",
                                      "--keys",        "2000M",
                                      "--repetitions", "1000"};
    if (std::string(option).back() == '=') {
      words.push_back(std::string(option) + place);
    } else {
      words.insert(words.end(), {option, place});
    }
    const Finished run = RunBench(words);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_NE(run.err.find(place), std::string::npos) << run.err;
  }
}

TEST(Usage, WhatCannotRunSaysWhy) {
  // A device is not replaced by a file; by a link, lest a failure do harm.
  const std::string link = ScratchFile("full");
  ASSERT_EQ(symlink("/dev/full", link.c_str()), 0);
  const Finished full =
      RunBench(Tiny({"--rates-only", "--competitors", "naive-classic", "--keys",
                     "1k", "--json", link}));
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_NE(full.err.find("No space left"), std::string::npos) << full.err;
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  unlink(link.c_str());

  const Finished huge = RunBench({"--keys", "2000M", "--key-bytes", "1024"});
  EXPECT_EQ(huge.exit_code, 1);
  EXPECT_NE(huge.err.find("2,000,000,000 keys per filter need up to"),
            std::string::npos)
      << huge.err;
}

}  // namespace
}  // namespace deltabloom::test
