// The parts that all measuring programs share: text, numbers, files. Interrupts
// are tested with the programs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "db_bench_ext/common/files.h"
#include "db_bench_ext/common/mixing.h"
#include "db_bench_ext/common/program.h"
#include "db_bench_ext/common/results.h"
#include "db_bench_ext/filter_bench/keys.h"
#include "tests/folder.h"
#include "tests/random.h"

namespace deltabloom::bench {
namespace {

namespace fs = std::filesystem;

TEST(Format, Numbers) {
  EXPECT_EQ(Fixed(1.25, 1), "1.2");
  EXPECT_EQ(Significant(10, 10), "10");
  EXPECT_EQ(WithThousands(1000), "1,000");
  EXPECT_EQ(WithThousands(std::numeric_limits<uint64_t>::max()),
            "18,446,744,073,709,551,615");
}

TEST(Tables, FieldsHaveTheirFormatAndEmptyColumnsAreLeftOut) {
  const Json rows = {{{"name", "x"}, {"n", 1234}, {"rate", 0.00838}},
                     {{"name", "y"}, {"n", nullptr}, {"rate", NAN}}};
  EXPECT_EQ(Table(rows, {{"name", "filter"},
                         {"n", "keys"},
                         {"none", "none"},
                         {"rate", "%", "%.3g", 100}}),
            "filter   keys      %\n"
            "x       1,234  0.838\n"
            "y           -      -\n");
}

TEST(Statistics, MedianAndBinomialError) {
  EXPECT_EQ(Median({9, 1, 2}), 2);
  EXPECT_EQ(Median({9, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(BinomialError(0.5, 100), 0.05);
}

// The text after the check of an option, or its error.
std::string After(const CLI::Validator& validator, std::string text) {
  const std::string error = validator(text);
  return error.empty() ? text : "error: " + error;
}

TEST(Options, CountsWithUnits) {
  const CLI::Validator any = Count(0, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(After(any, "100k"), "100000");
  EXPECT_EQ(After(any, "10M"), "10000000");
  EXPECT_EQ(After(any, "18446744073709551615"), "18446744073709551615");
  // The last two would overflow.
  for (const char* text :
       {"", "k", "-1", "1e3", "1.5", " 1", "1 ", "0x10", "+1", "1kk",
        "18446744073709551616", "18446744073709552k"}) {
    EXPECT_EQ(After(any, text).rfind("error", 0), 0u) << text;
  }
  for (const char* text : {"9", "2001", "3k", "x21"}) {
    EXPECT_EQ(After(Count(10, 2000), text),
              std::string("error: '") + text +
                  "' is not a whole number from 10 to 2,000");
  }
}

TEST(Options, NumbersInARange) {
  EXPECT_EQ(After(Number(1, 100), "9.9"), "9.9");
  for (const char* text : {"", "nan", "inf", "0.99", "100.1", "1,5", "ten"}) {
    EXPECT_EQ(
        After(Number(1, 100), text),
        std::string("error: '") + text + "' is not a number from 1 to 100");
  }
}

TEST(Options, Lists) {
  CLI::App app;
  std::vector<int> values = {7};
  AsList(app.add_option("--n", values))->transform(Count(1, 1000));
  EXPECT_TRUE(ParseCommandLine({}, &app));
  EXPECT_EQ(values, std::vector<int>{7});
  EXPECT_TRUE(ParseCommandLine({"--n", "3,1k"}, &app));
  EXPECT_EQ(values, (std::vector<int>{3, 1000}));
  EXPECT_THROW(ParseCommandLine({"--n", ","}, &app), UsageError);
  EXPECT_THROW(ParseCommandLine({"--n", "1", "2"}, &app), UsageError);
}

class Keys : public ::testing::TestWithParam<KeyKind> {};

TEST_P(Keys, AreDistinct) {
  const test::FreshRandom random;
  for (size_t size : {KeyMaker::SmallestSize(GetParam()), size_t{17},
                      size_t{24}, size_t{100}}) {
    const KeyMaker maker(GetParam(), size, random.seed);
    KeyChunk chunk(maker);
    std::set<std::string> keys;
    constexpr uint64_t kCount = 20'000;
    for (uint64_t i = 0; i < kCount; ++i) {
      // Some numbers are as large as those of timed builds.
      const uint64_t number = i % 2 == 0 ? i : (uint64_t{1} << 42) + i;
      chunk.Set(0, maker, number, true);
      keys.insert(chunk[0].ToString());
      chunk.Set(1, maker, number, false);
      keys.insert(chunk[1].ToString());
    }
    EXPECT_EQ(keys.size(), 2 * kCount) << size;
    EXPECT_EQ(keys.begin()->size(), size);
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, Keys,
                         ::testing::Values(KeyKind::kRandom,
                                           KeyKind::kSequential,
                                           KeyKind::kDecimal));

TEST(Mixing, IsSplitMix64AndScalesBelowABound) {
  // The expected numbers are those that the authors' program prints from the
  // state 0.
  MixedNumbers numbers(0);
  EXPECT_EQ(numbers.Next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(numbers.Next(), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(numbers.Next(), 0x06c45d188009454fu);
  EXPECT_EQ(Scale(std::numeric_limits<uint64_t>::max(), 10), 9u);
  EXPECT_EQ(Scale(uint64_t{1} << 63, 10), 5u);
}

size_t Entries(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class Files : public ::testing::Test {
 protected:
  ScratchDirectory scratch_{"parts_test"};
  const fs::path folder_ = scratch_.path();
  const fs::path path_ = folder_ / "file";
};

TEST_F(Files, LeftoversOfKilledRunsAreRemoved) {
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  waitpid(ended, nullptr, 0);
  const fs::path parent = folder_.parent_path();
  const auto left = [&](pid_t process) {
    const fs::path path =
        parent / ("left_test." + std::to_string(process) + ".x");
    fs::create_directory(path);
    std::ofstream(path / "file") << "x";
    return path;
  };
  const fs::path killed = left(ended);
  const fs::path running = left(getpid());
  const ScratchDirectory scratch("left_test");
  EXPECT_FALSE(fs::exists(killed));
  EXPECT_TRUE(fs::exists(running));
  fs::remove_all(running);
}

TEST_F(Files, AppearWhenTheyArePublished) {
  std::ofstream(path_) << "old";
  const fs::path link = folder_ / "link";
  fs::create_symlink(path_, link);
  for (const bool publish : {false, true}) {
    OutputFile file("--out", link);
    EXPECT_EQ(Entries(folder_), 3u);
    EXPECT_EQ(fs::path(file.writing_path()).extension(), ".unfinished");
    file.Write("first");
    file.Write("new");
    EXPECT_EQ(test::ReadFile(path_), "old");
    if (publish) file.Publish();
  }
  EXPECT_EQ(test::ReadFile(path_), "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(Entries(folder_), 2u);
}

TEST_F(Files, DevicesAreWrittenToDirectly) {
  OutputFile null("--out", "/dev/null");
  EXPECT_EQ(null.writing_path(), "/dev/null");
  null.Write("text");
  null.Publish();
  OutputFile full("--out", "/dev/full");
  try {
    full.Write("text");
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "--out: cannot write /dev/full: No space left on device");
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(Files, PlacesThatCannotBeWrittenToAreRefusedAtOnce) {
  for (const std::string& path :
       {std::string(), folder_.string(), std::string("/nonexistent/file"),
        std::string("/dev/null/file")}) {
    EXPECT_THROW(OutputFile("--out", path), UsageError) << path;
  }
  EXPECT_EQ(Entries(folder_), 0u);
}

TEST_F(Files, TemporaryFoldersGoUnlessTheyAreKept) {
  const fs::path kept = folder_ / "kept";
  const fs::path gone = folder_ / "gone";
  {
    Temporary keep(kept);
    const Temporary drop(gone);
    for (const fs::path& path : {kept, gone}) {
      fs::create_directory(path);
      std::ofstream(path / "content") << "content";
    }
    keep.Keep();
  }
  EXPECT_TRUE(fs::exists(kept / "content"));
  EXPECT_FALSE(fs::exists(gone));
}

}  // namespace
}  // namespace deltabloom::bench
