// The torture finds a filter that loses keys, a disk that loses what was
// synced, and a check that never ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "db_bench_ext/common/files.h"
#include "tests/random.h"
#include "tests/rocksdb/delegating_policy.h"
#include "tests/torture/run.h"

namespace deltabloom::torture {
namespace {

using rocksdb::Slice;

// Leaves out one key of forty.
class LosingBuilder : public testing::DelegatingBuilder {
 public:
  using DelegatingBuilder::DelegatingBuilder;

  void AddKey(const Slice& key) override {
    if (!Loses(key)) DelegatingBuilder::AddKey(key);
  }
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
  void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
    if (!Loses(key)) DelegatingBuilder::AddKeyAndAlt(key, alt);
  }
#endif

 private:
  static bool Loses(const Slice& key) {
    return std::hash<std::string>()(key.ToString()) % 40 == 0;
  }
};

// Never returns from a lookup.
class HangingPolicy
    : public testing::DelegatingPolicy<testing::DelegatingBuilder> {
 public:
  using DelegatingPolicy::DelegatingPolicy;

  rocksdb::FilterBitsReader* GetFilterBitsReader(const Slice&) const override {
    while (true) pause();
  }
};

template <typename Policy>
Sabotage With() {
  Sabotage sabotage;
  sabotage.policy = [](Sabotage::Policy policy) {
    return std::make_shared<Policy>(std::move(policy));
  };
  return sabotage;
}

std::string FailureOf(const Sabotage& sabotage, RunOptions options) {
  const bench::ScratchDirectory folder("torture-test");
  options.folder = folder.path();
  options.sabotage = sabotage;
  Journal* const journal = Journal::Create();
  const Failure failure = Run(options, journal);
  EXPECT_EQ(journal->totals.failures, 1u);
  return failure.what;
}

RunOptions Cycles() {
  RunOptions options;
  options.seed = test::SeedOr(3);
  return options;
}

TEST(SabotageTest, AFilterThatLosesKeysIsFound) {
  const std::string what =
      FailureOf(With<testing::DelegatingPolicy<LosingBuilder>>(), Cycles());
  // Names the key, whichever check finds it.
  EXPECT_NE(what.find("'k"), std::string::npos) << what;
}

TEST(SabotageTest, ADiskThatLosesWhatWasSyncedIsFound) {
  Sabotage sabotage;
  sabotage.forget_syncs = true;
  const std::string what = FailureOf(sabotage, Cycles());
  // The model finds a key or a transaction missing, or RocksDB a log that its
  // tables need.
  EXPECT_NE(what.find("then power is lost"), std::string::npos) << what;
}

TEST(SabotageTest, ACheckThatHangsIsFound) {
  RunOptions options = Cycles();
  // The working process is killed before that, unless it closes the database.
  options.timeout_seconds = 2;
  while (DrawPlan(options.seed, 0, Folders("")).closes) ++options.seed;
  const std::string what = FailureOf(With<HangingPolicy>(), options);
  EXPECT_NE(what.find("the check has not ended after 2 s; it was at: "),
            std::string::npos)
      << what;
}

TEST(SabotageTest, OnlyTheOrderOfLevel0IsMisorder) {
  // RocksDB 7.8.3's words (db/version_builder.cc), with other numbers.
  const bool before_fix = ROCKSDB_MAJOR == 7 && ROCKSDB_MINOR < 10;
  EXPECT_EQ(IsMisorder("force_consistency_checks(VersionBuilder): L0 file #27 "
                       "with seqno 158 175 vs. file #24 with global_seqno 170"),
            before_fix);
  EXPECT_FALSE(IsMisorder("Corruption: block checksum mismatch"));
  EXPECT_FALSE(
      IsMisorder("force_consistency_checks(VersionBuilder): L1 has "
                 "overlapping ranges"));
}

}  // namespace
}  // namespace deltabloom::torture
