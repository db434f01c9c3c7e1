// Tests what a policy passes to its builders, writes into LOGs, and prints when
// it cannot be made.
#include "engines/rocksdb/policy/policy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "deltabloom/c.h"
#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/options.h"
#include "table/framing.h"
#include "tests/rocksdb/test_db.h"
#include "util/cpu.h"
#include "util/version.h"

namespace deltabloom::testing {
namespace {

// The filter of a table of `keys` keys at `level`.
std::string FilterAt(const FilterPolicy& policy, int level, bool bottommost,
                     int keys) {
  const auto builder = NewBuilder(policy, nullptr, level, bottommost);
  for (int i = 0; i < keys; ++i) builder->AddKey(Key(i));
  std::unique_ptr<const char[]> owner;
  return builder->Finish(&owner).ToString();
}

TEST(PolicyTest, SealsTheLevelOfTheTable) {
  const PolicyPtr policy = Deltabloom();
  for (const int level : {0, 1, 3, 6, 63, 126, 127, 128, 255, 1000, -1}) {
    for (const bool bottommost : {false, true}) {
      const int most = bottommost ? 126 : 127;
      EXPECT_EQ(
          internal::SealedLevel(FilterAt(*policy, level, bottommost, 1)),
          level < 0 || level > most ? 255 : level + (bottommost ? 128 : 0));
    }
  }
}

// For ASan; without it the memory may still look sound.
TEST(PolicyTest, BuilderMayOutliveThePolicy) {
  BlockBasedTableOptions table;
  table.optimize_filters_for_memory = true;
  const auto builder = NewBitsBuilder(*Deltabloom(), table);
  for (int round = 0; round < 3; ++round) {
    for (const std::string& key : Keys(0, 1000)) builder->AddKey(key);
    std::unique_ptr<const char[]> owner;
    const Slice filter = builder->Finish(&owner);
    const auto reader = NewBitsReader(*Deltabloom(), filter);
    EXPECT_EQ(Matches(reader.get(), Keys(0, 1000)), 1000);
  }
}

constexpr char kConfigurationLine[] = "[deltabloom] version ";

// The lines of the LOG with a configuration, without what precedes it.
std::vector<std::string> Configurations(const TestDb& db) {
  std::vector<std::string> lines;
  std::istringstream log(db.Log());
  for (std::string line; std::getline(log, line);) {
    const size_t at = line.find(kConfigurationLine);
    if (at != std::string::npos) lines.push_back(line.substr(at));
  }
  return lines;
}

// The value of `name` in a line of "name=value" words.
std::string ValueIn(const std::string& line, const std::string& name) {
  const size_t at = line.find(" " + name + "=");
  if (at == std::string::npos) return "(none)";
  const size_t value = at + name.size() + 2;
  return line.substr(value, line.find(' ', value) - value);
}

// Without it a user could not tell with which options the filters of a database
// were built, by which versions, and under which name RocksDB looks for them.
// The words make the same policy again.
TEST(PolicyTest, TheLogHasEachConfigurationOnce) {
  TestDb db(PolicyFromString("deltabloom:9.9"));
  for (int i = 0; i < 3; ++i) db.Load(10 * i, 10 * i + 10);
  const std::vector<std::string> first = Configurations(db);
  ASSERT_EQ(first.size(), 1u);
  std::string text = "id=deltabloom;";
  for (const internal::PolicyOption& option : internal::kPolicyOptions) {
    text += option.name + ("=" + ValueIn(first[0], option.name)) + ";";
  }
  std::string made;
  std::string given;
  ASSERT_OK(PolicyFromString(text)->GetOptionString({}, &made));
  ASSERT_OK(PolicyFromString("deltabloom:9.9")->GetOptionString({}, &given));
  EXPECT_EQ(made, given);
  EXPECT_CONTAINS(first[0], internal::kVersion);
  EXPECT_EQ(ValueIn(first[0], "name"), Deltabloom()->CompatibilityName());
  EXPECT_EQ(ValueIn(first[0], "rocksdb"), internal::HeadersVersion());
  EXPECT_EQ(ValueIn(first[0], "cpu"), internal::CpuName(internal::ActiveCpu()));

  ASSERT_OK(db.SetPolicy("{bits_per_key=12;}"));
  db.Load(100, 200);
  const std::vector<std::string> both = Configurations(db);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(ValueIn(both[1], "bits_per_key"), "12");
}

// First ten that are open, then one after the other, so that the addresses of
// loggers are used again.
TEST(PolicyTest, EveryDatabaseGetsItsLogLine) {
  const PolicyPtr policy = Deltabloom();
  const auto load = [](TestDb* db, int from) {
    db->Load(from, from + 10);
    EXPECT_EQ(CountIn(db->Log(), kConfigurationLine), 1);
  };
  std::vector<TestDb> open(10);
  for (TestDb& db : open) db.Open(policy);
  for (int round = 0; round < 20; round += 10) {
    for (TestDb& db : open) load(&db, round);
  }
  for (int i = 0; i < 40; ++i) {
    TestDb db(policy);
    load(&db, 0);
    load(&db, 10);
  }
}

// A process may open databases for years, with one policy for all: it remembers
// which LOGs have its line, but no more of them than a thousand.
TEST(PolicyTest, TheThousandthAndFirstLogMakesItForgetTheOthers) {
  const PolicyPtr policy = Deltabloom();
  std::vector<LineLogger> logs(1001);
  const auto build = [&](size_t i) { NewBuilder(*policy, &logs[i]); };
  for (size_t i = 0; i < 1000; ++i) build(i);
  build(0);
  EXPECT_EQ(logs[0].Lines(kConfigurationLine).size(), 1u);
  build(1000);
  build(1000);
  EXPECT_EQ(logs[1000].Lines(kConfigurationLine).size(), 1u);
  build(0);
  EXPECT_EQ(logs[0].Lines(kConfigurationLine).size(), 2u);
}

// Once, however often it was written before: a LOG may not grow with each roll.
TEST(PolicyTest, ARolledLogHasTheLine) {
  const PolicyPtr policy = Deltabloom();
  TestDb db(policy, /*partitioned=*/false, [](Options* options, auto*) {
    options->max_log_file_size = 20'000;
  });
  db.Load(0, 10);
  // The policy cannot tell which database RocksDB opens with it, and writes the
  // line again.
  const TestDb other(policy);
  db.Load(10, 20);
  const auto log = db->GetDBOptions().info_log;
  for (int i = 0; i < 1000; ++i) {
    rocksdb::Info(log, "%s", std::string(100, '.').c_str());
  }
  log->Flush();
  EXPECT_EQ(CountIn(db.Log(), kConfigurationLine), 1);
}

// RocksDB has the name in its error where an OPTIONS file differs.
TEST(PolicyTest, NamesTheOptionThatDiffers) {
  const PolicyPtr ten = PolicyFromString("deltabloom:10");
  const PolicyPtr same = PolicyFromString("deltabloom:10");
  const PolicyPtr twelve = PolicyFromString("deltabloom:12");
  std::string name;
  EXPECT_TRUE(ten->AreEquivalent({}, same.get(), &name));
  EXPECT_FALSE(ten->AreEquivalent({}, twelve.get(), &name));
  EXPECT_CONTAINS(name, "bits_per_key");
}

TEST(PolicyTest, VersionIsTheProjects) {
  EXPECT_STREQ(internal::kVersion, DELTABLOOM_PROJECT_VERSION);
}

RocksDBFilterOptions Bits(double bits_per_key) {
  RocksDBFilterOptions options;
  options.bits_per_key = bits_per_key;
  return options;
}

// Returns what `fn` prints to standard error.
template <typename Fn>
std::string Printed(Fn fn) {
  ::testing::internal::CaptureStderr();
  fn();
  return ::testing::internal::GetCapturedStderr();
}

// The error of the options, as a function returns it.
std::string ErrorOf(double bits_per_key) {
  return "deltabloom: " + Bits(bits_per_key).Validate();
}

TEST(NullPolicyTest, IsPrintedOnce) {
  const auto make = [](double bits) {
    return Printed(
        [=] { EXPECT_EQ(NewRocksDBFilterPolicy(Bits(bits)), nullptr); });
  };
  EXPECT_EQ(make(1001),
            ErrorOf(1001) + "; RocksDB continues without these filters\n");
  EXPECT_EQ(make(1001), "");
  EXPECT_NE(make(1002), "");
  const std::string printed = Printed([&] {
    RocksDBFilterOptions transformed;
    transformed.key_transform = "ascii_lowercase";
    Options hashed = MakeOptions({NewRocksDBFilterPolicy(transformed)});
    hashed.memtable_prefix_bloom_size_ratio = 0.1;
    hashed.memtable_whole_key_filtering = true;
    EXPECT_FALSE(CheckRocksDBFilters(hashed));
    EXPECT_EQ(deltabloom_rocksdb_filterpolicy("deltabloom:x", nullptr),
              nullptr);
  });
  EXPECT_CONTAINS(printed,
                  "memtable_whole_key_filtering hashes the bytes of keys");
  EXPECT_CONTAINS(printed, "bits_per_key 'x' is not valid");
}

TEST(NullPolicyTest, NothingIsPrintedWithoutErrorOrWhereItIsReturned) {
  char* message = nullptr;
  std::string error;
  std::string thrown;
  const auto make = [&] {
    EXPECT_NE(NewRocksDBFilterPolicy(), nullptr);
    EXPECT_TRUE(RegisterRocksDB());
    EXPECT_NE(NewRocksDBFilterPolicyOrThrow(), nullptr);
    EXPECT_EQ(NewRocksDBFilterPolicy(Bits(-1), &error), nullptr);
    EXPECT_EQ(deltabloom_rocksdb_filterpolicy("deltabloom:y", &message),
              nullptr);
    try {
      NewRocksDBFilterPolicyOrThrow(Bits(-3));
    } catch (const std::runtime_error& caught) {
      thrown = caught.what();
    }
  };
  EXPECT_EQ(Printed(make), "");
  EXPECT_EQ(error, ErrorOf(-1));
  EXPECT_EQ(thrown, ErrorOf(-3));
  ASSERT_NE(message, nullptr);
  std::free(message);
}

// The last of these tests: nothing is printed afterwards.
TEST(NullPolicyTest, ManyErrorsDoNotFloodATerminal) {
  const std::string printed = Printed([] {
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(NewRocksDBFilterPolicy(Bits(2000 + i)), nullptr);
    }
  });
  EXPECT_LE(printed.size(), 20 * 300u);
}

}  // namespace
}  // namespace deltabloom::testing
